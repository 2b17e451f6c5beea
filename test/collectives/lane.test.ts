/** Flow control of a lane, over a queue pair that does what the test says. */
import { expect, it } from 'vitest'
import { dataSlots } from '../../src/collectives/arrived.ts'
import { Lane } from '../../src/collectives/lane.ts'
import type { Memory, Region } from '../../src/collectives/memory.ts'
import { creditsOf, immediateOf, Kind, kindOf } from '../../src/collectives/message.ts'
import { WcOpcode, WcStatus, type WorkCompletion } from '../../src/index.ts'

type Completion = Partial<WorkCompletion>

/** Completions that the next polls take. */
class Queue {
  readonly ready: Completion[] = []
  poll(wcs: WorkCompletion[]): number {
    const some = this.ready.splice(0, wcs.length)
    for (const [i, one] of some.entries())
      Object.assign(wcs[i]!, { status: 0, opcode: WcOpcode.Recv, byteLen: 4, ...one })
    return some.length
  }
}

/** A lane, what it sends (immediates), and its completion queues. */
function laneHere(): { lane: Lane; sent: number[]; sendCq: Queue; recvCq: Queue; i32: Int32Array } {
  const buffer = new ArrayBuffer(65_536)
  const memory = {
    ...{ f64: new Float64Array(buffer), i32: new Int32Array(buffer), u8: new Uint8Array(buffer) },
  } as unknown as Memory
  const region = { bytes: new Uint8Array(buffer), mr: { addr: 0, lkey: 1, rkey: 1 } } as unknown as Region
  const sent: number[] = []
  const [sendCq, recvCq] = [new Queue(), new Queue()]
  const postSend = ({ immData }: { immData: number }): number => sent.push(immData)
  const qp = { sendCq, recvCq, postRecv: () => {}, postSend }
  const lane = new Lane(memory, { region, offset: 0, slotBytes: 1024 }, { rank: 1, qp: qp as never })
  return { lane, sent, sendCq, recvCq, i32: memory.i32 }
}

it('slots are given back when the send queue has room again', () => {
  const { lane, sent, sendCq, recvCq } = laneHere()
  const arrive = (count: number, credits: number): void => {
    for (let i = 0; i < count; i++) recvCq.ready.push({ wrId: i, immData: i === 0 ? credits : 0 })
    while (lane.arrived.count < count) lane.poll()
    for (let i = 0; i < count; i++) lane.take()
  }
  // The send queue fills while no completion comes.
  while (lane.mayPost || lane.credits === 0) {
    if (lane.credits === 0) arrive(4, dataSlots)
    else lane.send(Kind.Data, 1, { at: 0, addr: 0, lkey: 1, rkey: 1, bytes: 64 }, 0, 4)
  }
  while (sent.length < 48) arrive(dataSlots / 2, 0)
  const before = sent.length
  arrive(dataSlots / 2, 0)
  expect(sent.length).toBe(before)
  // All of them complete.
  for (let i = 0; i < 6; i++) sendCq.ready.push({})
  lane.poll()
  expect(sent.slice(before).map((word) => [kindOf(word), creditsOf(word)])).toEqual([[Kind.Credit, dataSlots / 2]])
})

it('what came before the peer went is taken first', () => {
  const { lane, recvCq } = laneHere()
  recvCq.ready.push({ wrId: 0, immData: 0 }, { wrId: 1, immData: 0 }, { status: WcStatus.WrFlushErr })
  for (let left = 2; left > 0; left--) {
    lane.poll()
    expect(lane.arrived.count).toBe(left)
    lane.take()
  }
  expect(() => lane.poll()).toThrow('rank 1 cannot be reached any more')
})

it.skipIf(process.arch !== 'x64')('a box behind the last message of a peer that went is taken first', () => {
  const { lane, recvCq, i32 } = laneHere()
  lane.share({ at: 0, addr: 0, rkey: 1 })
  recvCq.ready.push({ wrId: 0, immData: immediateOf(Kind.Credit, 0, 0) }, { status: WcStatus.WrFlushErr })
  // Four bytes, after one SEND, the first box.
  i32.set([4, immediateOf(Kind.Data, 5, 0), 1, 1], lane.boxPlace.at / 4 + 12)
  while (recvCq.ready.length > 0) lane.poll()
  expect([lane.arrived.count, lane.arrived.tag, lane.arrived.bytes]).toEqual([1, 5, 4])
  lane.take()
  expect(() => lane.poll()).toThrow('rank 1 cannot be reached any more')
})

it.skipIf(process.arch !== 'x64')(
  'a device that executes requests later gets no boxes, which need a message behind each',
  () => {
    const { lane, sent, recvCq, sendCq } = laneHere()
    lane.share({ at: 32_768, addr: 0, rkey: 1 })
    const messages = 100
    for (let i = 0; i < messages; i++) {
      while (!lane.mayPost) {
        if (lane.credits === 0) recvCq.ready.push({ wrId: 0, immData: immediateOf(Kind.Credit, 0, dataSlots) })
        else sendCq.ready.push({})
        lane.poll()
        lane.poll()
      }
      lane.send(Kind.Data, 1, { at: 0, addr: 0, lkey: 1, rkey: 1, bytes: 8 }, 0, 8)
    }
    expect(sent.length).toBeLessThan(messages + 20)
  },
)
