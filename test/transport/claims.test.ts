/** Packets leave without the device's lock, and those of one QP in their order, whichever threads make them. */
import { expect, it, vi } from 'vitest'
import { Opcode } from '../../src/index.ts'
import { Claims } from '../../src/transport/claims.ts'
import { TransportDevice } from '../../src/transport/layout.ts'
import type { Transport } from '../../src/transport/transport.ts'
import { type Host, layout } from '../../src/verbs/provider/index.ts'
import { ours, type Script, scripted, theirs } from './script.ts'

const { Dev, Qp } = layout

/** The use of an attachment that no thread of these tests has. */
const otherUse = 1000 | (1 << 10)

const qpOf = (s: Script): number => s.device.host.qpWord(s.end.qp.slot)
const senderOf = (s: Script): number => s.device.host.i32[qpOf(s) + Qp.sender]!

/** Another thread that makes packets of the script's QP, and has yet to send them. */
class OtherSender {
  readonly #claims: Claims
  readonly #s: Script

  constructor(s: Script) {
    this.#s = s
    const { i32 } = s.device.host
    this.#claims = new Claims({ i32, segment: { lockValue: otherUse } } as unknown as Host)
    expect(this.#claims.take(qpOf(s))).toBe(true)
  }

  /** It has sent. */
  done(): void {
    const { transport } = this.#s.device as unknown as { readonly transport: Transport }
    this.#claims.release((q) => transport.ring(q))
  }
}

scripted('packets leave when the lock was given back, and the operation has ended', (s) => {
  const { host, index } = s.device
  const { i32, segment } = host
  const lock = i32[host.deviceWord(index) + Dev.transport]! + TransportDevice.lock
  const seen: object[] = []
  const device = s.device as unknown as { flush(): boolean }
  const flush = device.flush.bind(device)
  const spy = vi.spyOn(device, 'flush').mockImplementation(() => {
    seen.push({ lock: i32[lock], operation: i32[segment.operationWord]! & 1, mine: senderOf(s) === segment.lockValue })
    return flush()
  })
  s.post(Opcode.Send, { length: 8 })
  s.expect({ op: 'RcSendOnly', psn: ours })
  spy.mockRestore()
  expect(seen).toEqual([{ lock: 0, operation: 0, mine: true }])
  expect(senderOf(s)).toBe(0)
})

scripted('a request waits for the packets that another thread has yet to send, and leaves after them', (s) => {
  const other = new OtherSender(s)
  s.post(Opcode.Send, { length: 8 })
  s.expectSilence()
  other.done()
  s.drive()
  s.expect({ op: 'RcSendOnly', psn: ours })
})

scripted('what comes meanwhile is executed, and acknowledged afterwards', (s) => {
  s.receive(64, 7)
  const other = new OtherSender(s)
  s.send({ op: 'RcSendOnly', psn: theirs, ackReq: true, payload: new Uint8Array(8) })
  s.expectCompletion({ wrId: 7, status: 'Success', byteLen: 8 }, 'recv')
  s.expectSilence()
  other.done()
  s.drive()
  s.expect({ op: 'RcAck', psn: theirs })
})

scripted('so is a NAK', (s) => {
  const other = new OtherSender(s)
  s.send({ op: 'RcSendOnly', psn: theirs + 1, ackReq: true, payload: new Uint8Array(8) })
  s.expectSilence()
  other.done()
  s.drive()
  s.expect({ op: 'RcAck', psn: theirs })
})

scripted('timers of the QP run from when its packets have left', (s) => {
  s.post(Opcode.Send, { length: 8 })
  s.expect({ op: 'RcSendOnly', psn: ours })
  const other = new OtherSender(s)
  s.late(20e9)
  s.drive()
  expect(senderOf(s)).toBe(otherUse)
  other.done()
  s.expectSilence()
})

scripted('of a thread that was killed meanwhile the packets are sent again', (s) => {
  s.post(Opcode.Send, { length: 8 })
  s.expect({ op: 'RcSendOnly', psn: ours })
  new OtherSender(s)
  s.post(Opcode.Send, { length: 8 })
  s.expectSilence()
  s.device.takeOver()
  s.drive()
  s.expect({ op: 'RcSendOnly', psn: ours })
  s.expect({ op: 'RcSendOnly', psn: ours + 1 })
  expect(s.counted()).not.toHaveProperty('local_ack_timeout_err')
  expect(senderOf(s)).toBe(0)
})

it('who gives a QP back rings only if something was left, and never for one that is not its any more', () => {
  const i32 = new Int32Array(1024)
  const claims = new Claims({ i32, segment: { lockValue: 5 } } as unknown as Host)
  const others = new Claims({ i32, segment: { lockValue: 6 } } as unknown as Host)
  const rung: number[] = []
  const ring = (q: number): void => void rung.push(q)
  expect(claims.take(0)).toBe(true)
  expect(claims.take(0)).toBe(true)
  expect(claims.take(200)).toBe(true)
  expect(claims.take(400)).toBe(true)
  expect(others.take(200)).toBe(false)
  expect(others.take(200)).toBe(false)
  // A new QP in the same record.
  i32[400 + Qp.sender] = 6
  claims.release(ring)
  expect(rung).toEqual([200])
  expect(others.take(200)).toBe(true)
  expect(i32[400 + Qp.sender]).toBe(6)
})
