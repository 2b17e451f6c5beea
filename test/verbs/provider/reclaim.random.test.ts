/** What is closed is used again only when nobody works with it any more, whoever dies meanwhile. */
import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { Access, openDevice, QpState, QpType, type VerbsObject } from '../../../src/index.ts'
import { Attachment, attachmentWord, Header, isUse, ownerBits } from '../../../src/memory/segment-layout.ts'
import { isBuried } from '../../../src/verbs/provider/graves.ts'
import { Host, layout, reapAttachment } from '../../../src/verbs/provider/index.ts'
import { retireRegion } from '../../../src/verbs/provider/keys.ts'
import { destroyCq, destroyPd, destroySrq, retireQp } from '../../../src/verbs/provider/lifetime.ts'
import { sweep, sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { holds } from '../../property.ts'
import { deadAttachment, Killed, Life } from '../../transport/mortal.ts'
import { census } from '../census.ts'

const { Cq, Key, Pd, Qp, Srq } = layout
const context = openDevice('shm0')
const { host } = context.device
const { i32, segment } = host
afterAll(() => context.close())

/** A thread that is in an operation until `end`. */
class Busy {
  readonly #a: number

  constructor() {
    let id = i32[Header.attachmentsHigh]! + 1
    while (isUse(i32[attachmentWord(id) + Attachment.state]!)) id++
    const [own, a] = [attachmentWord(segment.me), attachmentWord(id)]
    this.#a = a
    for (const word of [Attachment.pid, Attachment.tid, Attachment.startTime, Attachment.startTime + 1])
      i32[a + word] = i32[own + word]!
    i32[a + Attachment.operation] = 7
    Atomics.store(i32, a + Attachment.state, id | (1 << ownerBits))
    if (i32[Header.attachmentsHigh]! < id) i32[Header.attachmentsHigh] = id
  }

  /** It goes on to the next one. */
  next(): void {
    Atomics.add(i32, this.#a + Attachment.operation, 2)
  }

  end(): void {
    Atomics.store(i32, this.#a + Attachment.state, 0)
  }
}

const busy: Busy[] = []
afterEach(() => {
  for (const one of busy.splice(0)) one.end()
  sweepNow(host)
})

function aBusyThread(): Busy {
  const one = new Busy()
  busy.push(one)
  return one
}

interface Made {
  qp: number
  cqs: number[]
  srq: number
  pd: number
  entry: number
  objects: [VerbsObject, 'qp' | 'cq' | 'srq' | 'pd'][]
}

/** One of each, with memory, as the thread `owner` has it. */
function makeAll(owner: number): Made {
  const pd = context.allocPd()
  const cqs = [context.createCq(100), context.createCq(100)]
  const srq = pd.createSrq({ maxWr: 200 })
  const qp = pd.createQp({ type: QpType.RC, sendCq: cqs[0]!, recvCq: cqs[1]!, srq })
  const at = host.allocate(3 * 4096, 'alloc', owner)
  const mr = pd.regMr({ addr: at, length: 3 * 4096 }, Access.LocalWrite)
  context.disown('mr', mr)
  const made = {
    qp: host.qpWord(qp.slot),
    cqs: cqs.map((cq) => host.cqWord(cq.slot)),
    srq: host.srqWord(srq.slot),
    pd: pd.word,
    entry: host.findKey(mr.lkey | 0),
    objects: [
      [qp, 'qp'],
      [cqs[0]!, 'cq'],
      [cqs[1]!, 'cq'],
      [srq, 'srq'],
      [pd, 'pd'],
    ] as Made['objects'],
  }
  i32[made.qp + Qp.owner] = owner
  for (const cq of made.cqs) i32[cq + Cq.owner] = owner
  i32[made.srq + Srq.owner] = owner
  i32[made.pd + Pd.owner] = owner
  i32[made.entry + Key.owner] = owner
  for (const [object, kind] of made.objects) context.disown(kind, object)
  return made
}

function closeAll(by: Host, { qp, cqs, srq, pd, entry }: Made): void {
  retireQp(by, qp)
  for (const cq of cqs) destroyCq(by, cq, false)
  destroySrq(by, srq, false)
  retireRegion(by, entry, true)
  destroyPd(by, pd, false)
}

describe('what is closed', () => {
  it('is nobody’s at once, and somebody else’s only when every operation that was in progress has ended', () => {
    sweepNow(host)
    const before = census(context)
    const one = aBusyThread()
    const made = makeAll(segment.me)
    const number = i32[made.qp + Qp.number]!
    const memory = host.f64[(made.entry + Key.addr) >> 1]!
    closeAll(host, made)
    expect([host.findQp(number), context.counters().takeovers]).toEqual([-1, 0])
    for (let i = 0; i < 40; i++) expect(sweep(host)).toBe(false)
    expect(segment.allocatedBytes(memory)).toBe(3 * 4096)
    expect(i32[made.qp]).toBe(-number)
    const since = makeAll(segment.me)
    closeAll(host, since)
    one.next()
    // What was closed since is not older than this operation.
    expect(sweep(host)).toBe(false)
    expect([i32[made.qp], segment.allocatedBytes(memory)]).toEqual([0, 0])
    expect(isBuried(host, 'qp', since.qp)).toBe(true)
    expect(sweep(host)).toBe(false)
    one.end()
    expect(sweep(host)).toBe(true)
    expect(census(context)).toEqual(before)
  })

  it('stays as long as a living thread has one of its locks', () => {
    sweepNow(host)
    const before = census(context)
    const made = makeAll(segment.me)
    closeAll(host, made)
    segment.lock(made.qp + Qp.sqLock)
    try {
      sweepNow(host)
      expect(isBuried(host, 'qp', made.qp)).toBe(true)
      // It may still complete there.
      expect(isBuried(host, 'cq', made.cqs[0]!)).toBe(true)
    } finally {
      segment.unlock(made.qp + Qp.sqLock)
    }
    sweepNow(host)
    expect(census(context)).toEqual(before)
  })

  it('is reclaimed for one that finds no memory', () => {
    const pd = context.allocPd()
    const free = (): number => segment.sizeBytes - segment.heapStart - 4096 * census(context).pages!
    const most = Math.floor(free() / 2 / 4096) * 4096
    const close = (): void => {
      const memory = context.alloc(most)
      pd.regMr(memory, Access.LocalWrite).discard(memory)
    }
    for (let i = 0; i < 5; i++) close()
    pd.close()
  })

  it('ends completions that are in a queue already, and the queue goes on for others', () => {
    const pd = context.allocPd()
    const cq = context.createCq(8)
    const qps = [0, 1].map(() => pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq }))
    for (const [i, qp] of qps.entries()) {
      const q = host.qpWord(qp.slot)
      host.complete(host.cqWord(cq.slot), i, 0, layout.packWhat(0, 0, 0), 0, 0, 0, q, 0, false)
    }
    qps[0]!.discard()
    expect(cq.startPoll() && cq.current.wrId).toBe(1)
    expect(cq.nextPoll()).toBe(false)
    qps[1]!.close()
    cq.close()
    pd.close()
  })
})

describe('a thread that dies at any of its stores', () => {
  const life = new Life()
  const mortal = new Host(life.segment(segment), { randomInt })

  it('while it closes and reclaims leaves nothing that another cannot reclaim, and takes nothing that is another’s', () => {
    sweepNow(host)
    const before = census(context)
    holds(
      fc.property(fc.integer({ min: 1, max: 110 }), (steps) => {
        const made = makeAll(deadAttachment)
        life.begin(steps)
        try {
          life.run(() => {
            closeAll(mortal, made)
            sweep(mortal)
          })
        } catch (error) {
          if (!(error instanceof Killed)) throw error
        }
        // Between the death and its discovery others go on.
        const others = Array.from({ length: 3 }, () => host.allocate(4096, 'alloc'))
        reapAttachment(host, deadAttachment)
        segment.release(deadAttachment)
        for (const at of others) expect(segment.allocatedBytes(at)).toBe(4096)
        for (const at of others) segment.free(at)
        expect(census(context)).toEqual(before)
      }),
      6,
      120,
    )
  }, 300_000)
})

describe('modify', () => {
  it('changes nothing for others before anyone can have remembered the queue pair', () => {
    const pd = context.allocPd()
    const cq = context.createCq(8)
    const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq })
    const epoch = i32[segment.epochWord]
    qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, qkey: 1 })
    qp.modify({ state: QpState.Rtr })
    qp.modify({ state: QpState.Rts, sqPsn: 0 })
    expect(i32[segment.epochWord]).toBe(epoch)
    qp.modify({ qkey: 2 })
    expect(i32[segment.epochWord]).not.toBe(epoch)
    qp.close()
    cq.close()
    pd.close()
  })
})
