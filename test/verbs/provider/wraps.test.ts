/** Counts and generations of the tables across their wraps. Those of queues and connections: the compliance suite, through ../aged.ts. */
import { afterAll, describe, expect, it } from 'vitest'
import {
  Access,
  connectQp,
  endpointOf,
  incRkey,
  Opcode,
  openDevice,
  type PdHandle,
  QpType,
  SendFlag,
  workCompletions,
} from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { recordOf, retire, slotOf, stale } from '../../../src/verbs/provider/records.ts'
import { withSlot } from '../slots.ts'

const { Ctx, Dev, Qp } = layout
const context = openDevice('shm0')
const { host, index } = context.device
const { i32 } = host
const wc = workCompletions(8)
afterAll(() => context.close())

/** Sets the 16 bits of a free record's generation, which are even while it is free. */
function ageRecord(kind: 'pd' | 'cq' | 'channel' | 'qp', slot: number, generation: number): void {
  const { table, words } = layout.Records[kind]
  i32[host.at[table] + slot * words + 1] = slot | (generation << 16)
}

describe('the generation of a record, 16 bits', () => {
  it('begins again at 1: no reference is 0, and one from before the wrap is stale', () => {
    const first = context.allocPd()
    const { slot } = first as unknown as { slot: number }
    first.close()
    ageRecord('pd', slot, 0xfffc)
    const seen: { handle: PdHandle; ref: number }[] = []
    for (const generation of [0xfffd, 0xffff, 1, 3]) {
      const pd = withSlot(slot, () => context.allocPd() as typeof first & { slot: number })
      const { handle } = pd
      expect(handle.ref).toBe(slot | (generation << 16))
      for (const before of seen) expect(() => context.importPd(before.handle)).toThrow('closed, or never was')
      context.importPd(handle).close()
      seen.push({ handle, ref: handle.ref })
      pd.close()
      expect(() => context.importPd(handle)).toThrow('closed, or never was')
    }
  })

  it('retired at its end names nothing, slot 0 included', () => {
    const { table } = layout.Records.channel
    const word = host.at[table]
    const before = i32[word + 1]!
    i32[word + 1] = 0xffff << 16
    expect(recordOf(host, 'channel', 0xffff << 16)).toBe(word)
    retire(host, word)
    expect(i32[word + 1]).toBe(0)
    for (const ref of [0, 0xffff << 16]) expect(recordOf(host, 'channel', ref)).toBe(stale)
    i32[word + 1] = before
  })

  it('events of a CQ come to its channel, and to its context, with references beyond 2^31', () => {
    const channel = context.createCompChannel()
    const first = context.createCq(1, { channel })
    const { slot } = first
    first.close()
    ageRecord('cq', slot, 0xfffe)
    const cq = withSlot(slot, () => context.createCq(1, { channel }))
    expect([slotOf(cq.ref), cq.ref < 0]).toEqual([slot, true])
    using pd = context.allocPd()
    const qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
    cq.reqNotify()
    connectQp(qp, endpointOf(qp), endpointOf(qp))
    qp.postRecv({ wrId: 1 })
    qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled })
    expect(channel.tryGetEvent()).toBe(cq)
    cq.ackEvents(1)
    // One completion more than it has room for.
    expect(context.pollAsyncEvent()?.cq).toBe(cq)
    while (context.pollAsyncEvent());
    qp.close()
    cq.close()
    channel.close()
  })
})

describe('the epoch, 32 bits', () => {
  it('that has gone round to 0 brings nothing back that the fast path remembered', () => {
    const { segment } = host
    const ends = [0, 1].map(() => {
      const pd = context.allocPd()
      const cq = context.createCq(16)
      const buffer = context.alloc(4096)
      const mr = pd.regMr(buffer, Access.LocalWrite)
      const qp = pd.createQp({ type: QpType.UC, sendCq: cq, recvCq: cq })
      return { pd, cq, buffer, mr, qp, sge: { addr: mr.addr, length: 8, lkey: mr.lkey } }
    })
    const [a, b] = ends as [(typeof ends)[0], (typeof ends)[0]]
    connectQp(a.qp, endpointOf(a.qp), endpointOf(b.qp))
    connectQp(b.qp, endpointOf(b.qp), endpointOf(a.qp))
    const send = (byte: number): void => {
      a.buffer.fill(byte)
      a.qp.postSend({ opcode: Opcode.Send, sgList: [a.sge] })
    }
    for (let i = 0; i < 8; i++) b.qp.postRecv({ sgList: [b.sge] })
    for (let i = 1; i < 5; i++) send(i)
    expect([b.cq.poll(wc), b.buffer[0]]).toEqual([4, 4])
    b.qp.close()
    // To nobody, and with that the fast path gives up what it knew.
    send(5)
    for (const epoch of [0, 1, -1, 0]) {
      Atomics.store(i32, segment.epochWord, epoch)
      send(6)
    }
    expect([b.cq.poll(wc), b.buffer[0]]).toEqual([0, 4])
    a.qp.close()
    for (const { mr, cq, pd, buffer } of ends) {
      mr.close()
      cq.close()
      pd.close()
      context.free(buffer)
    }
  })
})

it('counters of a port are unsigned, as in ibv_port_attr', () => {
  const dev = host.deviceWord(index)
  const before = [i32[dev + Dev.qkeyViolations]!, i32[dev + Dev.badPkeys]!]
  for (const word of [Dev.qkeyViolations, Dev.badPkeys]) {
    i32[dev + word] = 0x7fffffff
    Atomics.add(i32, dev + word, 1)
  }
  expect(context.queryPort(1)).toMatchObject({ qkeyViolCntr: 0x80000000, badPkeyCntr: 0x80000000 })
  i32.set([before[0]!], dev + Dev.qkeyViolations)
  i32.set([before[1]!], dev + Dev.badPkeys)
})

it('doorbells for an engine thread: the ring is full after 512, wherever its positions are, and then one is missed', () => {
  // Without an engine thread, which would empty it.
  const quiet = openDevice('shm0')
  const c = host.ctxWord((quiet as typeof quiet & { slot: number }).slot)
  const pd = quiet.allocPd()
  const cq = quiet.createCq(4)
  const qps = Array.from({ length: Ctx.doorbellSlots + 1 }, () =>
    pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } }),
  )
  for (const at of [0x80000000 - 3, -3]) {
    i32[c + Ctx.doorbellTail] = i32[c + Ctx.doorbellHead] = at
    for (const [i, qp] of qps.entries()) {
      const q = host.qpWord(qp.slot)
      i32[q + Qp.engine] = 1
      i32[q + Qp.rung] = 0
      expect(i32[c + Ctx.doorbellMissed]).toBe(0)
      quiet.device.doorbell(q)
      const last = c + Ctx.doorbells + ((at + i) & (Ctx.doorbellSlots - 1))
      if (i < Ctx.doorbellSlots) expect(i32[last]).toBe(qp.slot)
    }
    expect(i32[c + Ctx.doorbellTail]).toBe((at + Ctx.doorbellSlots) | 0)
    expect(i32[c + Ctx.doorbellMissed]).toBe(1)
    i32[c + Ctx.doorbellMissed] = 0
  }
  for (const qp of qps) i32[host.qpWord(qp.slot) + Qp.engine] = 0
  for (const object of [...qps, cq, pd, quiet]) object.close()
})

it('the low byte of an rkey goes round, and the rest stays', () => {
  expect([0x7fffffff, 0xffffffff, 0x800000ff, 0x123456fe].map(incRkey)).toEqual([
    0x7fffff00, 0xffffff00, 0x80000000, 0x123456ff,
  ])
})
