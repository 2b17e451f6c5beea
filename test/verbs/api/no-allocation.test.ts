/** A message costs no allocation: neither posting nor polling, on the fast path, through the queue, and for each opcode. */
import { afterAll, describe, expect, it } from 'vitest'
import { Opcode, openDevice, type QpType, recvWr, SendFlag, sendWr, workCompletions } from '../../../src/index.ts'
import { connect, makeEnd } from '../../devices/shm/rig.ts'
import { leastGrowth } from '../../heap.ts'

/** Of 16 bytes a message, the smallest object there is, this many messages would be this much. */
const messages = 200_000
const allowedBytes = messages

describe('allocation', () => {
  const [left, right] = [openDevice('shm0'), openDevice('shm1')]
  const [a, b] = [makeEnd(left), makeEnd(right)]
  connect(a, b)
  afterAll(() => {
    a.close()
    b.close()
    left.close()
    right.close()
  })

  const one = [a.sge(0, 8)]
  const two = [a.sge(0, 8), a.sge(8, 8)]
  const remote = { remoteAddr: b.mr.addr, rkey: b.mr.rkey }
  const sendFlags = SendFlag.Signaled
  const requests = {
    SEND: sendWr<typeof QpType.RC>({ opcode: Opcode.Send, sendFlags, sgList: one }),
    'SEND of two elements': sendWr<typeof QpType.RC>({ opcode: Opcode.Send, sendFlags, sgList: two }),
    'SEND inline': sendWr<typeof QpType.RC>({
      opcode: Opcode.Send,
      sendFlags: sendFlags | SendFlag.Inline,
      sgList: one,
    }),
    SEND_WITH_IMM: sendWr<typeof QpType.RC>({ opcode: Opcode.SendWithImm, immData: 1, sendFlags, sgList: one }),
    'WRITE of two elements': sendWr<typeof QpType.RC>({ opcode: Opcode.Write, sendFlags, sgList: two, ...remote }),
    WRITE: sendWr<typeof QpType.RC>({ opcode: Opcode.Write, sendFlags, sgList: one, ...remote }),
    READ: sendWr<typeof QpType.RC>({ opcode: Opcode.Read, sendFlags, sgList: one, ...remote }),
  }
  it('would be seen: one object a message', () => {
    const kept: { i: number }[] = new Array(messages)
    expect(
      leastGrowth(() => {
        for (let i = 0; i < messages; i++) kept[i] = { i }
      }, 8 * messages),
    ).toBeGreaterThan(8 * messages)
  })

  const receive = recvWr({ wrId: 1, sgList: [b.sge()] })
  const wc = workCompletions(4)

  it.each(Object.entries(requests))('%s, 200,000 times', (name, wr) => {
    const receives = name.startsWith('SEND')
    let completions = 0
    const run = (count: number): void => {
      for (let i = 0; i < count; i++) {
        if (receives) b.qp.postRecv(receive)
        wr.wrId = i
        a.qp.postSend(wr)
        completions += a.cq.poll(wc)
        completions += b.recvCq.poll(wc)
      }
    }
    let wrong = 0
    const least = leastGrowth(() => {
      completions = 0
      run(messages)
      if (completions !== (receives ? 2 * messages : messages)) wrong++
    }, allowedBytes)
    expect(wrong).toBe(0)
    expect(least).toBeLessThan(allowedBytes)
  })
})
