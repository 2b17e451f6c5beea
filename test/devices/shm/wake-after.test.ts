/** When a thread that waits is woken: after the poster has released its locks, since it may run at once in the poster's place. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import { Opcode, openDevice, SendFlag } from '../../../src/index.ts'
import { Attachment, attachmentWord } from '../../../src/memory/segment-layout.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { connect, drain, makeEnd } from './rig.ts'

const { Qp } = layout
/** Of `Attachment.parked`: the thread blocks on that word. */
const blocks = 1

describe('a thread that waits for a completion', () => {
  const [left, right] = [openDevice('shm0'), openDevice('shm1')]
  const { host } = left.device
  const { i32, segment } = host
  afterAll(() => {
    left.close()
    right.close()
  })

  it('is woken once, when the poster holds no lock and is in no operation', () => {
    const channel = right.createCompChannel()
    const recvCq = right.createCq(16, { channel })
    const [a, b] = [makeEnd(left), makeEnd(right, { recvCq })]
    connect(a, b)
    const q = host.qpWord(a.qp.slot)
    b.qp.postRecv({ wrId: 1, sgList: [b.sge()] })
    recvCq.reqNotify()
    const woken: object[] = []
    const notify = vi.spyOn(segment, 'notify').mockImplementation(() => {
      const inOperation = (i32[segment.operationWord]! & 1) === 1
      woken.push({ sendLock: i32[q + Qp.sqLock], inOperation, completions: drain(recvCq).length })
    })
    i32[attachmentWord(segment.me) + Attachment.parked] = blocks
    // Two elements: the fast path is for one.
    const sgList = [a.sge(0, 4), a.sge(8, 4)]
    a.qp.postSend({ wrId: 2, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList })
    notify.mockRestore()
    expect(woken).toEqual([{ sendLock: 0, inOperation: false, completions: 1 }])
    channel.tryGetEvent()
    recvCq.ackEvents(1)
    a.close()
    b.close()
    recvCq.close()
    channel.close()
  })
})
