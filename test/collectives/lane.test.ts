/** Flow control of a lane, over a queue pair that does what the test says. */
import { expect, it } from 'vitest'
import { dataSlots } from '../../src/collectives/arrived.ts'
import { Lane } from '../../src/collectives/lane.ts'
import type { Memory, Region } from '../../src/collectives/memory.ts'
import { creditsOf, immediateOf, Kind, kindOf } from '../../src/collectives/message.ts'
import {
  Opcode,
  type RecvWorkRequest,
  SendFlag,
  type SendWorkRequest,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
} from '../../src/index.ts'

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

/** Two lanes to each other in one memory, over queue pairs that execute at once, as after so many messages and boxes. */
function lanesHere(counted: number): { lanes: Lane[]; f64: Float64Array } {
  const buffer = new ArrayBuffer(131_072)
  const memory = { f64: new Float64Array(buffer), i32: new Int32Array(buffer), u8: new Uint8Array(buffer) }
  const region = { bytes: memory.u8, mr: { addr: 0, lkey: 1, rkey: 1 } } as unknown as Region
  const ends = [0, 1].map(() => ({ sendCq: new Queue(), recvCq: new Queue(), receives: [] as RecvWorkRequest[] }))
  const lanes = ends.map(({ sendCq, recvCq, receives }, rank) => {
    const other = ends[1 - rank]!
    const qp = {
      ...{ sendCq, recvCq },
      postRecv(first: RecvWorkRequest): void {
        for (let wr: RecvWorkRequest | null = first; wr !== null; wr = wr.next)
          receives.push({ ...wr, sgList: wr.sgList } as RecvWorkRequest)
      },
      postSend(wr: SendWorkRequest): void {
        const { addr, length } = wr.sgList[0] ?? { addr: 0, length: 0 }
        if (wr.opcode === Opcode.Write) memory.u8.copyWithin(wr.remoteAddr, addr, addr + length)
        else {
          const receive = other.receives.shift()!
          memory.u8.copyWithin(receive.sgList[0]!.addr, addr, addr + length)
          other.recvCq.ready.push({ wrId: receive.wrId, byteLen: length, immData: wr.immData })
        }
        if ((wr.sendFlags & SendFlag.Signaled) !== 0) sendCq.ready.push({})
      },
    }
    const place = { region, offset: rank * 65_536, slotBytes: 1024 }
    return new Lane(memory as unknown as Memory, place, { rank: 1 - rank, qp: qp as never }, counted)
  })
  for (const [rank, lane] of lanes.entries()) {
    lane.share(lanes[1 - rank]!.boxPlace)
    lane.postReceives()
    // The lap before.
    for (let i = 0; i < 16; i++)
      memory.i32[lane.boxPlace.at / 4 + ((counted + i) & 15) * 16 + 15] = (counted + i + 1 - 16) | 0
  }
  return { lanes, f64: memory.f64 }
}

it.skipIf(process.arch !== 'x64').each([0, 2 ** 31 - 9, -9])(
  'messages and boxes come in the order in which they were sent, from count %i on',
  (counted) => {
    const { lanes, f64 } = lanesHere(counted | 0)
    const place = { at: 60_000, addr: 60_000, lkey: 1, rkey: 1, bytes: 1024 }
    const [from, to] = lanes as [Lane, Lane]
    let taken = 0
    for (let i = 0; i < 200; i++) {
      // Of four messages one is too long for a box.
      const bytes = i % 4 === 3 ? 512 : 8
      f64[place.at / 8] = i
      // Not each look is at the completions.
      expect(from.hasRoom() || from.hasRoom() || from.hasRoom()).toBe(true)
      from.send(Kind.Data, i & 127, place, 0, bytes)
      if (i % 5 !== 4) continue
      for (; taken <= i; taken++) {
        expect(to.hasMessage() || to.hasMessage() || to.hasMessage()).toBe(true)
        const { at, bytes: got, tag } = to.arrived
        expect([f64[at / 8], got, tag]).toEqual([taken, taken % 4 === 3 ? 512 : 8, taken & 127])
        to.take()
      }
      to.poll()
      expect(to.arrived.count).toBe(0)
    }
  },
)
