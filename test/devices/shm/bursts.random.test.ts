/** Short SENDs between programs that are posted together, against the same that are posted one by one. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Opcode, openDevice, SendFlag, type SendWrInit, WcStatus, type WorkCompletion } from '../../../src/index.ts'
import { nativeAvailable, nativeReason, ProcessVm } from '../../../src/memory/index.ts'
import { endMemoryProcesses, MemoryProcess } from '../../memory/memory-process.ts'
import { holds } from '../../property.ts'
import { connectSides, type Place, Side, sge } from './process-rig.ts'

describe.skipIf(nativeAvailable)(`bursts: ${nativeReason}`, () => {
  it.skip('need the native layer', () => {})
})

const half = 64 << 10
/** Of the buffer of each message. */
const slotBytes = 4096

interface Message {
  opcode: 'Send' | 'SendWithImm' | 'WriteWithImm'
  length: number
  pieces: number
  inline: boolean
  flags: number
  imm: number
  room: number
  roomPieces: number
  /** Which key is not one: that of the request, of the receive, or none. */
  wrong: 'from' | 'to' | 'none'
  inSegment: boolean
}

const message: fc.Arbitrary<Message> = fc.record({
  opcode: fc.constantFrom('Send', 'Send', 'Send', 'SendWithImm', 'WriteWithImm'),
  length: fc.oneof(fc.nat(64), fc.nat(64), fc.nat(2100)),
  pieces: fc.integer({ min: 1, max: 3 }),
  inline: fc.boolean(),
  flags: fc.constantFrom(0, SendFlag.Signaled, SendFlag.Signaled | SendFlag.Solicited),
  imm: fc.nat(0xffffffff),
  room: fc.oneof({ weight: 12, arbitrary: fc.constant(slotBytes) }, { weight: 1, arbitrary: fc.nat(64) }),
  roomPieces: fc.integer({ min: 1, max: 3 }),
  wrong: fc.oneof(
    { weight: 40, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom('from' as const, 'to' as const) },
  ),
  inSegment: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
})
const messages = fc.record({
  list: fc.array(message, { minLength: 2, maxLength: 16 }),
  /** Receives that there are of those that the messages take. */
  receives: fc.oneof({ weight: 4, arbitrary: fc.constant(16) }, { weight: 1, arbitrary: fc.nat(15) }),
  /** Entries of the receiver's CQ. */
  cqe: fc.oneof({ weight: 6, arbitrary: fc.constant(64) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }) }),
})

describe.skipIf(!nativeAvailable)('bursts', () => {
  const contexts = ['shm0', 'shm1'].map((name) => openDevice(name))
  let processes: MemoryProcess[] = []
  beforeAll(async () => {
    processes = await Promise.all([MemoryProcess.start(2 * half), MemoryProcess.start(2 * half)])
  })
  afterAll(async () => {
    await endMemoryProcesses()
    for (const context of contexts) context.close()
  })

  /** Two connected programs, whose bytes are in a half of what each process has. */
  class Pair {
    readonly a: Side
    readonly b: Side
    readonly from: Place
    readonly to: Place
    readonly segment: Place
    readonly offset: number

    constructor(offset: number, cqe = 64) {
      this.offset = offset
      this.a = new Side(contexts[0]!, { hosted: true })
      this.b = new Side(contexts[1]!, { hosted: true, cqe })
      // No retry: a message without a receive ends the connection at once.
      connectSides(this.a, this.b, { rnrRetry: 0 })
      this.from = this.a.inProcess(processes[0]!)
      this.to = this.b.inProcess(processes[1]!)
      this.segment = this.a.inSegment(half)
      for (let i = 0; i < half; i += 4096) {
        const bytes = Uint8Array.from({ length: 4096 }, (_, j) => ((i + j) * 31 + ((i + j) >> 7)) & 0xff)
        this.from.poke(offset + i, bytes)
        this.segment.poke(i, bytes)
        this.to.poke(offset + i, new Uint8Array(4096))
      }
    }

    pieces(
      place: Place,
      number: number,
      length: number,
      count: number,
      offset = this.offset,
    ): ReturnType<typeof sge>[] {
      const each = Math.ceil(length / count)
      const at = offset + (number % 16) * slotBytes
      return Array.from({ length: count }, (_, i) =>
        sge(place, at + Math.min(i * each, length), Math.max(0, Math.min(each, length - i * each))),
      )
    }

    receive(list: readonly Message[], count: number): void {
      for (const [i, { room, roomPieces, wrong }] of list.slice(0, count).entries()) {
        const sgList = this.pieces(this.to, i, room, roomPieces)
        if (wrong === 'to') for (const one of sgList) one.lkey ^= 0x500
        this.b.postRecv({ wrId: 100 + i, sgList })
      }
    }

    requests(list: readonly Message[]): SendWrInit[] {
      return list.map(({ opcode, length, pieces, inline, flags, imm, wrong, inSegment }, i) => {
        const isInline = inline && length <= 64 && inSegment
        const sgList = inSegment
          ? this.pieces(this.segment, i, length, pieces, 0)
          : this.pieces(this.from, i, length, pieces)
        if (wrong === 'from') for (const one of sgList) one.lkey ^= 0x500
        return {
          wrId: i,
          opcode: Opcode[opcode],
          sendFlags: flags | (isInline ? SendFlag.Inline : 0),
          sgList,
          immData: imm,
          remoteAddr: this.to.mr.addr + this.offset + i * slotBytes,
          rkey: this.to.mr.rkey,
        } as SendWrInit
      })
    }

    /** The bytes of a receive that did not complete are nobody's: with `all` false they are left out. */
    outcome(all = true): object {
      const seen = ({ wrId, status, opcode, byteLen, immData, wcFlags }: WorkCompletion) =>
        status === WcStatus.Success ? { wrId, opcode, byteLen, immData, wcFlags } : { wrId, status }
      const received = this.b.completions(this.b.recvCq)
      const bytes = Array.from({ length: 16 }, (_, i) =>
        all || received.some(({ wrId, status }) => wrId === 100 + i && status === WcStatus.Success)
          ? Buffer.from(this.to.peek(this.offset + i * slotBytes, slotBytes)).toString('latin1')
          : null,
      )
      return {
        sent: this.a.completions(this.a.sendCq).map(seen),
        received: received.map(seen),
        states: [this.a.qp.state, this.b.qp.state],
        bytes,
      }
    }

    close(): void {
      this.a.close()
      this.b.close()
    }
  }

  /** What the adapters count meanwhile. */
  function rise(act: () => void): object[] {
    const before = contexts.map((context) => context.counters())
    act()
    return contexts.map((context, i) =>
      Object.fromEntries(Object.entries(context.counters()).map(([name, value]) => [name, value - before[i]![name]!])),
    )
  }

  it('end as messages that come one by one, and count as much', () => {
    holds(
      fc.property(messages, ({ list, receives, cqe }) => {
        const together = new Pair(0, cqe)
        const alone = new Pair(half, cqe)
        for (const pair of [together, alone]) pair.receive(list, receives)
        const requests = together.requests(list)
        for (let i = 1; i < requests.length; i++) requests[i - 1]!.next = requests[i]!
        const counted = rise(() => together.a.qp.postSend(requests[0]!))
        const countedAlone = rise(() => {
          for (const request of alone.requests(list)) alone.a.qp.postSend(request)
        })
        try {
          expect(counted).toEqual(countedAlone)
          expect(together.outcome(cqe === 64)).toEqual(alone.outcome(cqe === 64))
        } finally {
          together.close()
          alone.close()
          // Those that nobody reads are lost, and counted, when there are many.
          for (const context of contexts) while (context.pollAsyncEvent() !== null);
        }
      }),
      60,
      1500,
    )
  })

  it('take two calls of the kernel, and one look at each process', () => {
    const pair = new Pair(0)
    const list = Array.from(
      { length: 16 },
      (_, i): Message => ({
        ...{ opcode: 'Send', length: 8 * i, pieces: 1, inline: false, flags: SendFlag.Signaled, imm: 0 },
        ...{ room: slotBytes, roomPieces: 1, wrong: 'none', inSegment: false },
      }),
    )
    pair.receive(list, 16)
    const requests = pair.requests(list)
    for (let i = 1; i < requests.length; i++) requests[i - 1]!.next = requests[i]!
    const calls = [vi.spyOn(ProcessVm.prototype, 'read'), vi.spyOn(ProcessVm.prototype, 'write')]
    const [sent] = rise(() => pair.a.qp.postSend(requests[0]!))
    expect(sent).toMatchObject({ sent_pkts: 16, rdma_sends: 16 })
    expect(calls.map(({ mock }) => mock.calls.length)).toEqual([1, 1])
    for (const call of calls) call.mockRestore()
    expect(pair.outcome()).toMatchObject({ sent: { length: 16 }, received: { length: 16 } })
    pair.close()
  })

  it('leave out what is not mapped any more: those before it arrive', async () => {
    const short = await MemoryProcess.start(half)
    await short.unmap(5 * slotBytes, slotBytes)
    const pair = new Pair(0)
    const gone = pair.a.inProcess(short)
    for (let i = 0; i < 16; i++) pair.b.postRecv({ wrId: i, sgList: [sge(pair.to, i * slotBytes, slotBytes)] })
    const requests = Array.from(
      { length: 8 },
      (_, i): SendWrInit => ({
        wrId: i,
        opcode: Opcode.Send,
        sendFlags: SendFlag.Signaled,
        sgList: [sge(gone, i * slotBytes, 16)],
      }),
    )
    for (let i = 1; i < requests.length; i++) requests[i - 1]!.next = requests[i]!
    pair.a.qp.postSend(requests[0]!)
    expect(pair.a.completions(pair.a.sendCq).map(({ wrId, status }) => [wrId, status])).toEqual([
      ...[0, 1, 2, 3, 4].map((i) => [i, WcStatus.Success]),
      [5, WcStatus.LocProtErr],
      ...[6, 7].map((i) => [i, WcStatus.WrFlushErr]),
    ])
    expect(pair.b.completions(pair.b.recvCq).filter(({ status }) => status === WcStatus.Success)).toHaveLength(5)
    pair.close()
  })
})
