/** Single stores between which the thread that drives a device may be killed. */
import { expect, it, vi } from 'vitest'
import { AckPolicy } from '../../src/transport/ack-policy.ts'
import { Acknowledgements } from '../../src/transport/acknowledgements.ts'
import { TransportQp } from '../../src/transport/index.ts'
import { Resource } from '../../src/transport/layout.ts'
import { TransportState } from '../../src/transport/state.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { Syndrome } from '../../src/wire/index.ts'
import { scripted, theirs } from './script.ts'

it('a NAK is due only once it has its PSN: the next thread sends it as it stands', () => {
  const psns: number[] = []
  const i32 = new Proxy(new Int32Array(64), {
    set(target, index, value) {
      target[Number(index)] = value
      if (target[TransportQp.nakDue] !== 0) psns.push(target[TransportQp.nakPsn]!)
      return true
    },
  })
  new Acknowledgements({ i32 } as unknown as TransportState, new AckPolicy(i32)).oweNak(0, Syndrome.PsnSequence, 77)
  expect(psns).toEqual([77])
})

scripted(
  'a peer that has a response may ask for the next one, though the thread that sent it was killed before it could say so',
  (s) => {
    const read = { op: 'RcReadRequest', ...s.reth({ length: 8 }) } as const
    s.send({ ...read, psn: theirs })
    s.expect({ op: 'RcReadResponseOnly', psn: theirs })
    const { i32 } = s.device.host
    const t = i32[s.device.host.qpWord(s.end.qp.slot) + layout.Qp.wire]!
    expect(i32[t + TransportQp.resNext]).toBe(1)
    i32[t + TransportQp.resNext] = 0
    i32[t + TransportQp.resources + Resource.answered] = 0
    s.device.orphan()
    s.send({ ...read, psn: theirs + 1 })
    s.expect({ op: 'RcReadResponseOnly', psn: theirs + 1 })
    s.expectSilence()
  },
  { connect: { maxDestRdAtomic: 1 } },
)

scripted(
  'an exception in the middle of a packet is as if the thread had died there: the packet counts when it comes again',
  (s) => {
    s.receive(64, 7)
    const completes = vi.spyOn(TransportState.prototype, 'completeReceive').mockImplementationOnce(() => {
      throw new Error('on purpose')
    })
    try {
      const packet = { op: 'RcSendOnly', psn: theirs, ackReq: true, payload: new Uint8Array(8) } as const
      expect(() => s.send(packet)).toThrow('on purpose')
      s.send(packet)
      s.expectCompletion({ wrId: 7, status: 'Success', byteLen: 8 }, 'recv')
      s.expect({ op: 'RcAck', psn: theirs })
    } finally {
      completes.mockRestore()
    }
  },
)
