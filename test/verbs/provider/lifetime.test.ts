/** Records change hands: what names an object that is gone meets nothing, and never the object that came in its place. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import {
  Access,
  type Context,
  type CqHandle,
  EventType,
  incRkey,
  type MrHandle,
  MwType,
  Opcode,
  openDevice,
  type PdHandle,
  QpState,
  QpType,
  recvWr,
  SendFlag,
  type SrqHandle,
  sendWr,
  VerbsError,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { NativeError } from '../../../src/memory/index.ts'
import { Host, layout, registerDriver } from '../../../src/verbs/provider/index.ts'
import { unbindWindow } from '../../../src/verbs/provider/keys.ts'
import { recount } from '../../../src/verbs/provider/lifetime.ts'
import { reapAttachment } from '../../../src/verbs/provider/reap.ts'
import { sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { connect, drain, makeEnd, Part, until } from '../../devices/shm/rig.ts'
import { withSlot } from '../slots.ts'

const { Cq, Cqe, Meta, Qp } = layout
const context = openDevice('shm0')
const { host } = context.device
const wc = workCompletions(8)
afterAll(() => context.close())

const closed = expect.objectContaining({ name: 'VerbsError', code: 'EBADF' })

/** A send to `b` that `a` completes. */
function send(a: ReturnType<typeof makeEnd>, b: ReturnType<typeof makeEnd>, wrId = 1): void {
  b.qp.postRecv({ wrId, sgList: [b.sge()] })
  a.qp.postSend({ wrId, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
}

describe('asynchronous events', () => {
  it('of a QP that was closed before they were polled are dropped, and not given to the QP in its place', () => {
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    a.qp.postSend({ opcode: Opcode.Write, remoteAddr: b.mr.addr, rkey: b.mr.rkey ^ 0x100, sgList: [a.sge()] })
    expect(b.qp.state).toBe(QpState.Err)
    const { slot } = b.qp
    b.qp.close()
    const next = withSlot(slot, () => b.pd.createQp({ type: QpType.RC, sendCq: b.cq, recvCq: b.cq }))
    expect(context.pollAsyncEvent()).toBeNull()
    next.close()
    b.mr.close()
    b.cq.close()
    b.recvCq.close()
    b.pd.close()
    context.free(b.buffer)
    a.close()
  })

  it('name the QP that was made here, also when it was imported and the import closed', () => {
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    context.importQp(b.qp.handle as never).close()
    a.qp.postSend({ opcode: Opcode.Write, remoteAddr: b.mr.addr, rkey: b.mr.rkey ^ 0x100, sgList: [a.sge()] })
    const event = context.pollAsyncEvent()
    expect(event).toMatchObject({ type: EventType.QpAccessErr, qpNum: b.qp.qpNum })
    expect(event!.qp).toBe(b.qp)
    a.close()
    b.close()
  })

  it('that nobody fetches are kept up to a limit; the rest is counted, and later ones are kept again', () => {
    const lost = (): number => context.counters().events_lost!
    const before = lost()
    const kept = layout.Ctx.eventSlots
    const raise = (events: number): void => {
      for (let i = 0; i < events; i++) host.deviceEvent(context.slot, EventType.DeviceFatal)
    }
    raise(kept)
    expect(lost() - before).toBe(0)
    raise(3)
    expect(lost() - before).toBe(3)
    for (let i = 0; i < kept; i++) expect(context.pollAsyncEvent()).toMatchObject({ type: EventType.DeviceFatal })
    expect(context.pollAsyncEvent()).toBeNull()
    raise(1)
    expect(context.pollAsyncEvent()).toMatchObject({ type: EventType.DeviceFatal })
  })
})

describe('imports', () => {
  it('of a QP work on the device that it was made on only', () => {
    const a = makeEnd(context)
    const other = openDevice('shm1')
    expect(() => other.importQp(a.qp.handle as never)).toThrow(
      expect.objectContaining({ code: 'EINVAL', message: expect.stringContaining('device') }),
    )
    other.close()
    a.close()
  })

  it('of a protection domain and CQs can have a QP, which keeps its context open', () => {
    const a = makeEnd(context)
    const second = openDevice('shm0')
    const cq = second.importCq(a.cq.handle)
    const qp = second.importPd(a.pd.handle).createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
    expect(() => second.close()).toThrow(expect.objectContaining({ code: 'EBUSY' }))
    qp.close()
    second.close()
    a.close()
  })
})

describe('an object whose owner closed it', () => {
  it('a closed CQ, and an import of it, never take the completions of the CQ in its place', () => {
    const old = context.createCq(16)
    const imported = context.importCq(old.handle)
    const { slot } = old
    old.close()
    const cq = withSlot(slot, () => context.createCq(16))
    const [a, b] = [makeEnd(context), makeEnd(context, { recvCq: cq })]
    connect(a, b)
    send(a, b)
    for (const gone of [old, imported])
      for (const use of [() => gone.poll(wc), () => gone.startPoll(), () => gone.reqNotify(), () => gone.resize(32)])
        expect(use).toThrow(closed)
    expect(() => context.importCq(old.handle)).toThrow(expect.objectContaining({ code: 'EINVAL' }))
    expect(() => a.pd.createQp({ type: QpType.RC, sendCq: imported, recvCq: imported })).toThrow(closed)
    expect(cq.poll(wc)).toBe(1)
    a.close()
    b.close()
    cq.close()
    imported.close()
  })

  it('an import of a closed SRQ, QP, MR or PD throws EBADF and touches nothing of what came in its place', () => {
    const pd = context.allocPd()
    const [a, buffer] = [makeEnd(context), context.alloc(4096)]
    const [srq, mr] = [pd.createSrq({ maxWr: 4 }), pd.regMr(buffer, Access.LocalWrite)]
    const imports = {
      srq: context.importSrq(srq.handle),
      qp: context.importQp(a.qp.handle as never),
      mr: context.importMr(mr.handle),
      pd: context.importPd(pd.handle),
    }
    const slots = { srq: srq.slot, qp: a.qp.slot, pd: pd.slot }
    srq.close()
    mr.close()
    pd.close()
    a.close()
    const next = withSlot(slots.pd, () => context.allocPd())
    const nextSrq = withSlot(slots.srq, () => next.createSrq({ maxWr: 4 }))
    const cq = context.createCq(4)
    const nextQp = withSlot(slots.qp, () => next.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq }))
    nextQp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: 0 })
    const uses = [
      () => imports.srq.postRecv({ sgList: [] }),
      () => imports.srq.modify({ srqLimit: 1 }),
      () => imports.srq.query(),
      () => imports.qp.postRecv({ sgList: [] }),
      () => imports.qp.postSend({ opcode: Opcode.Send, sgList: [] } as never),
      () => imports.qp.modify({ state: QpState.Err } as never),
      () => imports.qp.query(),
      () => imports.mr.rereg(1, { buffer }),
      () => imports.pd.regMr(buffer, 0),
      () => imports.pd.allocMw(MwType.Type1),
      () => imports.pd.createSrq({ maxWr: 1 }),
    ]
    for (const use of uses) expect(use).toThrow(closed)
    expect(nextQp.state).toBe(QpState.Init)
    expect(nextSrq.query().srqLimit).toBe(0)
    for (const object of Object.values(imports)) object.close()
    nextQp.close()
    nextSrq.close()
    cq.close()
    next.close()
    context.free(buffer)
  })
})

interface Owned {
  pd: PdHandle
  cq: CqHandle
  srq: SrqHandle
  mr: MrHandle
  addr: number
  rkey: number
}

/** A thread makes objects and ends; the caller uses them before and after. */
async function outlive(use: (owned: Owned) => () => void | Promise<void>): Promise<void> {
  const part = new Part({ part: 'owner', device: 'shm0' })
  const after = use(await part.hear<Owned>())
  part.say('end')
  await part.ended
  await after()
}

describe('the end of a thread', () => {
  it.each(['cq', 'srq'] as const)(
    'ends the QPs of others that need its %s, and frees its memory only then',
    async (which) => {
      await outlive((owned) => {
        const cq = context.importCq(owned.cq)
        const srq = context.importSrq(owned.srq)
        const [a, own] = [makeEnd(context), context.createCq(8)]
        const b = makeEnd(context, which === 'cq' ? { recvCq: cq } : { srq })
        connect(a, b)
        if (which === 'cq') b.qp.postRecv({ wrId: 1, sgList: [b.sge()] })
        else srq.postRecv({ wrId: 1, sgList: [] })
        return async () => {
          await until('QP_FATAL', () => b.qp.state === QpState.Err)
          const event = context.pollAsyncEvent()
          expect([event?.type, event?.qp === b.qp]).toEqual([EventType.QpFatal, true])
          // Its pages are handed out again; nothing may write there.
          const pages = Array.from({ length: 64 }, () => context.alloc(4096))
          a.qp.postSend({ wrId: 7, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
          await until('completion', () => drain(a.cq).some(({ status }) => status !== WcStatus.Success))
          if (which === 'cq') b.qp.postRecv({ wrId: 2, sgList: [b.sge()] })
          expect(pages.every((page) => page.every((byte) => byte === 0))).toBe(true)
          expect(() => cq.poll(wc)).toThrow(closed)
          expect(() => srq.postRecv({ sgList: [] })).toThrow(closed)
          const { slot } = which === 'cq' ? cq : srq
          // The record is not another's while a QP names it.
          const others = Array.from({ length: 300 }, () =>
            which === 'cq' ? context.createCq(1) : a.pd.createSrq({ maxWr: 1 }),
          )
          expect(others.map((other) => other.slot)).not.toContain(slot)
          for (const other of others) other.close()
          for (const page of pages) context.free(page)
          b.close()
          if (which === 'cq') withSlot(slot, () => context.createCq(1)).close()
          own.close()
          a.close()
        }
      })
    },
  )

  it('that runs on while its process ends changes nothing any more once another has taken over what it had', async () => {
    const counter = new Int32Array(new SharedArrayBuffer(4))
    const part = new Part({ part: 'changer', device: 'shm0', counter: counter.buffer })
    const use = await part.hear<number>()
    await until('changes', () => Atomics.load(counter, 0) > 100)
    // Nobody gives up its own before it has cleaned up after the others: its locks would be anybody's.
    expect(host.segment.ownAttachments()).toContain(use)
    expect(host.segment.ownAttachments().at(-1)).toBe(host.segment.lockValue)
    const [attachment, seen] = host.control(() => [host.segment.claim(use), Atomics.load(counter, 0)] as const)
    expect(attachment).toBeGreaterThan(0)
    // It may have been outside of the lock; when it comes there, it goes no further.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(Atomics.load(counter, 0) - seen).toBeLessThanOrEqual(1)
    await part.worker.terminate()
    reapAttachment(host, attachment)
    host.segment.release(attachment)
  })

  it('leaves what others have in its protection domain, and the record until that is closed', async () => {
    await outlive((owned) => {
      const pd = context.importPd(owned.pd)
      const buffer = context.alloc(4096)
      const mr = pd.regMr(buffer, Access.LocalWrite)
      const cq = context.createCq(4)
      const qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
      return () => {
        expect(() => pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })).toThrow(closed)
        const others = Array.from({ length: 300 }, () => context.allocPd())
        expect(others.map((other) => other.slot)).not.toContain(pd.slot)
        for (const other of others) other.close()
        qp.close()
        mr.close()
        withSlot(pd.slot, () => context.allocPd()).close()
        cq.close()
        context.free(buffer)
      }
    })
  })

  it('unbinds windows of others from its regions', async () => {
    await outlive((owned) => {
      const pd = context.importPd(owned.pd)
      const [a, cq] = [makeEnd(context), context.createCq(8)]
      const b = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
      connect(a, { qp: b } as never)
      const mw = pd.allocMw(MwType.Type1)
      const mr = context.importMr(owned.mr)
      b.bindMw(mw, { mr, addr: owned.addr, length: 4096, accessFlags: Access.RemoteWrite })
      expect(cq.poll(wc)).toBe(1)
      expect(wc[0]!.status).toBe(WcStatus.Success)
      const write = (): void =>
        a.qp.postSend({
          opcode: Opcode.Write,
          sendFlags: SendFlag.Signaled,
          remoteAddr: owned.addr,
          rkey: mw.rkey,
          sgList: [a.sge()],
        })
      write()
      expect(drain(a.cq)).toEqual([{ wrId: 0, status: WcStatus.Success }])
      return () => {
        write()
        expect(drain(a.cq)).toEqual([{ wrId: 0, status: WcStatus.RemAccessErr }])
        b.close()
        mw.close()
        cq.close()
        a.close()
        while (context.pollAsyncEvent());
      }
    })
  })

  it.each(['cq', 'srq'] as const)('in the middle of closing a %s leaves no record behind', async (which) => {
    const { i32, segment } = host
    const part = new Part({ part: 'closer', device: 'shm0' })
    const slots = await part.hear<{ cq: number; srq: number }>()
    const state = which === 'cq' ? host.cqWord(slots.cq) + Cq.state : host.srqWord(slots.srq) + layout.Srq.state
    // As long as this thread is in an operation, no grace period ends.
    segment.enterNow()
    try {
      part.say(which)
      await until('beginning of the end', () => i32[state] === layout.recordState.dead)
      await part.worker.terminate()
      await part.ended
    } finally {
      segment.leave()
    }
    expect(i32[state]).toBe(0)
  })

  it('that has resized what another thread owns takes no memory from it', async () => {
    const { i32, segment } = host
    const [pd, cq] = [context.allocPd(), context.createCq(4)]
    const srq = pd.createSrq({ maxWr: 4 })
    await new Part({ part: 'resizer', device: 'shm0', cq: cq.handle, srq: srq.handle }).ended
    expect([cq.cqe, srq.query().maxWr]).toEqual([64, 64])
    for (const ring of [host.cqWord(cq.slot) + Cq.ring, host.srqWord(srq.slot) + layout.Srq.ring])
      expect(segment.allocatedBytes(i32[ring]! * 4)).toBeGreaterThan(0)
    srq.close()
    cq.close()
    pd.close()
  })

  it('takes a CQ from its channel, and what completes to it at that moment makes no event anywhere', () => {
    const channel = context.createCompChannel()
    const cq = context.createCq(4, { channel })
    const word = host.cqWord(cq.slot)
    cq.reqNotify()
    host.dropChannelEvents(word, cq.ref)
    const beside = (): Int32Array => host.i32.slice(host.chanWord(-1), host.chanWord(0))
    const before = beside()
    host.fireIfArmed(word, true)
    expect(beside()).toEqual(before)
    host.i32[word + Cq.channel] = channel.slot
    cq.close()
    channel.close()
  })

  it('in the middle of making an event for a CQ of another one leaves that with its event', async () => {
    const channel = context.createCompChannel()
    const cq = context.createCq(4, { channel })
    host.i32[host.cqWord(cq.slot) + Cq.events] = 1
    await outlive(() => () => {
      expect(channel.tryGetEvent()).toBe(cq)
    })
    cq.ackEvents(1)
    cq.close()
    channel.close()
  })

  it.each([
    ['any', false],
    ['solicited', true],
  ] as const)(
    'between the arming (%s) of a CQ of another one and its event leaves that with its event',
    async (_, solicited) => {
      const channel = context.createCompChannel()
      const make = () => context.createCq(4, { channel })
      const [cq, never, idle] = [make(), make(), make()]
      cq.reqNotify(solicited)
      idle.reqNotify(solicited)
      const { segment } = host
      const { lock } = segment
      segment.lock = (at: number): void => {
        if (at === host.chanWord(channel.slot) + layout.Chan.lock) throw new Error('killed')
        lock.call(segment, at)
      }
      try {
        expect(() => host.fireIfArmed(host.cqWord(cq.slot), true)).toThrow('killed')
      } finally {
        segment.lock = lock
      }
      expect(channel.tryGetEvent() === null).toBe(true)
      await outlive(() => () => {
        expect(channel.tryGetEvent() === cq).toBe(true)
        expect(channel.tryGetEvent() === null).toBe(true)
      })
      cq.ackEvents(1)
      // It is armed again only if the program does so, and then as always.
      host.fireIfArmed(host.cqWord(cq.slot), true)
      expect(channel.tryGetEvent() === null).toBe(true)
      cq.reqNotify(solicited)
      host.fireIfArmed(host.cqWord(cq.slot), true)
      expect(channel.tryGetEvent() === cq).toBe(true)
      cq.ackEvents(1)
      for (const each of [cq, never, idle]) each.close()
      channel.close()
    },
  )

  it.each([
    ['any', 0, false],
    ['any', SendFlag.Solicited, false],
    ['solicited', SendFlag.Solicited, true],
    ['none', 0, true],
  ] as const)(
    'after a completion, before it looked whether the CQ is armed, leaves that with its event: %s, flags %i',
    async (which, sendFlags, solicitedOnly) => {
      const channel = context.createCompChannel()
      const recvCq = context.createCq(16, { channel })
      const [a, b] = [makeEnd(context), makeEnd(context, { recvCq })]
      connect(a, b)
      recvCq.reqNotify(solicitedOnly)
      host.fireIfArmed = () => {}
      try {
        // The second one takes the fast path.
        for (let i = 0; i < 2; i++) {
          b.qp.postRecv({ sgList: [b.sge()] })
          a.qp.postSend({ opcode: Opcode.Send, sendFlags, sgList: [a.sge()] })
        }
      } finally {
        delete (host as Partial<Host>).fireIfArmed
      }
      await outlive(() => () => {
        expect(channel.tryGetEvent() === recvCq).toBe(which !== 'none')
        expect(channel.tryGetEvent() === null).toBe(true)
      })
      expect(drain(recvCq)).toHaveLength(2)
      if (which !== 'none') recvCq.ackEvents(1)
      for (const end of [a, b]) end.close()
      recvCq.close()
      channel.close()
      sweepNow(host)
    },
  )

  it('while a thread makes an event, another one can arm the CQ for solicited events or for any', () => {
    const channel = context.createCompChannel()
    const cq = context.createCq(4, { channel })
    const armed = host.cqWord(cq.slot) + Cq.armed
    for (const [solicitedOnly, expected] of [
      [true, layout.cqArmed.solicited],
      [false, layout.cqArmed.any],
    ] as const) {
      host.i32[armed] = layout.cqArmed.due
      cq.reqNotify(solicitedOnly)
      host.wakeChannel(host.cqWord(cq.slot))
      expect(channel.tryGetEvent() === cq).toBe(true)
      expect(host.i32[armed]).toBe(expected)
    }
    cq.ackEvents(2)
    cq.close()
    channel.close()
  })

  it('counts anew what a thread that was killed in between had not', async () => {
    const pd = context.allocPd()
    const dev = host.deviceWord(context.device.index)
    const meta = host.at.meta
    const used = [host.i32[dev + layout.Dev.mrs], host.i32[meta + Meta.keysUsed]]
    host.i32[dev + layout.Dev.mrs]! += 3
    host.i32[meta + Meta.keysUsed]! += 3
    host.i32[pd.word + layout.Pd.mrs]! += 1
    await outlive(() => () => {
      expect([host.i32[dev + layout.Dev.mrs], host.i32[meta + Meta.keysUsed]]).toEqual(used)
    })
    pd.close()
  })

  it('shows no thread a CQ of several producers as that of one, not even while they are counted', () => {
    const cq = context.createCq(16)
    const ends = Array.from({ length: 3 }, () => makeEnd(context, { recvCq: cq }))
    const producers = host.cqWord(cq.slot) + Cq.producers
    const read = new Set<number>()
    // Other threads read the word between any two stores.
    const i32 = new Proxy(host.i32, {
      get: (words, name) => Reflect.get(words, name, words) as unknown,
      set(words, name, value) {
        const done = Reflect.set(words, name, value, words)
        read.add(words[producers]!)
        return done
      },
    })
    const watched = new Proxy(host, {
      get(of, name) {
        const value = name === 'i32' ? i32 : (Reflect.get(of, name, of) as unknown)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
    recount(watched)
    expect([...read]).toEqual([3])
    host.i32[producers] = 7
    recount(host)
    expect(host.i32[producers]).toBe(3)
    for (const end of ends) end.close()
    cq.close()
    sweepNow(host)
  })
})

describe('a table', () => {
  it('is freed once, by the array that alloc returned, though another buffer has its pages by then', () => {
    const first = context.alloc(4096)
    context.free(first)
    const second = context.alloc(4096)
    expect(second.byteOffset).toBe(first.byteOffset)
    second[0] = 7
    for (const stale of [first, first.subarray(0), second.subarray(0), context.view(second.byteOffset, 4096)])
      expect(() => context.free(stale)).toThrow(
        /^free: .* or it was freed already: a view of a buffer does not free it/,
      )
    const third = context.alloc(4096)
    expect(third.byteOffset).not.toBe(second.byteOffset)
    expect(second[0]).toBe(7)
    context.free(third)
    context.free(second)
  })

  it('that is full leaves nothing of the object that does not fit', () => {
    const { segment } = host
    const pages = (): number => {
      const at = context.alloc(4096)
      context.free(at)
      return at.byteOffset
    }
    const pd = context.allocPd()
    const cq = context.createCq(4)
    const { max, bits } = layout.Records.cq
    const first = host.at.slots + bits
    const bitmap = host.i32.slice(first, first + max / 32)
    const free = freeBytes(context)
    host.i32.fill(-1, first, first + max / 32)
    try {
      for (let i = 0; i < 20; i++)
        expect(() => context.createCq(4096)).toThrow(expect.objectContaining({ name: 'VerbsError', code: 'ENOMEM' }))
    } finally {
      host.i32.set(bitmap, first)
    }
    expect(freeBytes(context)).toBe(free)
    expect(pages()).toBeGreaterThan(segment.heapStart - 1)
    context.createCq(4).close()
    cq.close()
    pd.close()
  })

  it('gives slots in turn, so that one is not used again at once', () => {
    const seen = new Set<number>()
    for (let i = 0; i < 100; i++) {
      const cq = context.createCq(1)
      seen.add(cq.slot)
      cq.close()
    }
    expect(seen.size).toBe(100)
  })
})

/** Pages of the heap that nobody has. */
function freeBytes({ device }: Context): number {
  const { segment } = device.host
  let free = 0
  for (let at = segment.heapStart; at < segment.sizeBytes; ) {
    const bytes = segment.allocatedBytes(at)
    if (bytes === 0) free += 4096
    at += bytes || 4096
  }
  return free
}

describe('completion queues', () => {
  it('that overran take no more completions, also after some were polled', () => {
    const cq = context.createCq(2)
    const [a, b] = [makeEnd(context), makeEnd(context, { recvCq: cq })]
    connect(a, b)
    const shared = makeEnd(context, { recvCq: cq })
    const other = makeEnd(context)
    connect(other, shared)
    const overruns = context.counters().cq_overruns!
    for (let i = 0; i < 3; i++) send(a, b, i)
    expect(context.counters().cq_overruns! - overruns).toBe(1)
    expect(b.qp.state).toBe(QpState.Err)
    expect(cq.poll(wc)).toBe(2)
    for (let i = 0; i < 3; i++) send(other, shared, 10 + i)
    expect(cq.poll(wc)).toBe(-1)
    expect(shared.qp.state).toBe(QpState.Err)
    while (context.pollAsyncEvent());
    for (const end of [a, b, shared, other]) end.close()
    cq.close()
  })

  // IBA C9-218
  it('whose send side overruns on the fast path flush the receives and give QP_FATAL', () => {
    const cq = context.createCq(1)
    const [a, b] = [makeEnd(context), makeEnd(context)]
    const qp = a.pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: a.recvCq })
    connect({ ...a, qp } as never, b)
    qp.postRecv({ wrId: 70, sgList: [a.sge()] })
    for (let i = 0; i < 4; i++) b.qp.postRecv({ wrId: i, sgList: [b.sge()] })
    for (let i = 0; i < 3 && qp.state === QpState.Rts; i++)
      qp.postSend({ wrId: i, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
    expect(qp.state).toBe(QpState.Err)
    expect(drain(a.recvCq)).toEqual([{ wrId: 70, status: WcStatus.WrFlushErr }])
    const events = [context.pollAsyncEvent(), context.pollAsyncEvent()].map((event) => event?.type)
    expect(events.sort()).toEqual([EventType.CqErr, EventType.QpFatal].sort())
    expect(host.i32[host.segment.operationWord]! & 1).toBe(0)
    qp.close()
    cq.close()
    a.close()
    b.close()
  })

  it('resized at the wrap of their positions show no completion that nobody made', () => {
    const cq = context.createCq(4)
    const word = host.cqWord(cq.slot)
    for (const at of [Cq.head, Cq.tail, Cq.tailSeen]) host.i32[word + at] = -1
    // As 2^32 completions leave them.
    for (let at = -5; at < -1; at++)
      host.i32[host.i32[word + Cq.ring]! + (at & host.i32[word + Cq.mask]!) * Cqe.words + Cqe.sequence] = at + 1
    cq.resize(8)
    expect(cq.poll(wc)).toBe(0)
    cq.close()
  })

  it('RESET leaves no completion whose polling would move the new queue', () => {
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    for (let i = 0; i < 3; i++) send(a, b, i)
    const q = host.qpWord(a.qp.slot)
    const { segment } = host
    const { lock } = segment
    let tailAtPurge = -1
    // The purge takes the lock of polling: until then the queue must be as it was.
    segment.lock = (at: number): void => {
      if (at === host.cqWord(a.cq.slot) + Cq.pollLock && tailAtPurge < 0) tailAtPurge = host.i32[q + Qp.sqHead]!
      lock.call(segment, at)
    }
    try {
      a.qp.modify({ state: QpState.Reset })
    } finally {
      segment.lock = lock
    }
    expect(tailAtPurge).toBe(3)
    expect(drain(a.cq)).toEqual([])
    expect(host.i32[q + Qp.sqTail]).toBe(0)
    a.close()
    b.close()
  })
})

describe('a full receive queue', () => {
  it('takes a receive after a completion was polled, without a look at the word that the sender writes', () => {
    const [a, b] = [makeEnd(context), makeEnd(context, { slots: 4 })]
    connect(a, b)
    const word = host.qpWord(b.qp.slot) + Qp.rqTail
    for (let i = 0; i < 3; i++) b.qp.postRecv({ sgList: [b.sge()] })
    // The first goes through the queue and the executor, the others take the fast path.
    for (let i = 0; i < 3; i++) {
      b.qp.postRecv({ wrId: i, sgList: [b.sge()] })
      a.qp.postSend({ opcode: Opcode.Send, sgList: [a.sge()] })
      expect(b.recvCq.poll(wc, 1)).toBe(1)
      const used = host.i32[word]!
      host.i32[word] = used - 1
      try {
        b.qp.postRecv({ sgList: [b.sge()] })
        expect(() => b.qp.postRecv({ sgList: [b.sge()] })).toThrow(expect.objectContaining({ code: 'ENOMEM' }))
      } finally {
        host.i32[word] = used
      }
      a.qp.postSend({ opcode: Opcode.Send, sgList: [a.sge()] })
      expect(b.recvCq.poll(wc, 1)).toBe(1)
    }
    a.close()
    b.close()
  })

  it('is as long as it is after RESET, whatever was polled meanwhile', () => {
    const [a, b] = [makeEnd(context), makeEnd(context, { slots: 4 })]
    connect(a, b)
    for (let i = 0; i < 3; i++) send(a, b, i)
    const { segment } = host
    const { lock } = segment
    const pollLock = host.cqWord(b.recvCq.slot) + Cq.pollLock
    let polled = -1
    // Between the change of the state and the purge.
    segment.lock = (at: number): void => {
      if (at === pollLock && polled < 0) {
        polled = 0
        polled = b.recvCq.poll(wc)
      }
      lock.call(segment, at)
    }
    try {
      b.qp.modify({ state: QpState.Reset })
    } finally {
      segment.lock = lock
    }
    expect(polled).toBe(3)
    b.qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: Access.LocalWrite })
    for (let i = 0; i < 4; i++) b.qp.postRecv({ sgList: [b.sge()] })
    expect(() => b.qp.postRecv({ sgList: [b.sge()] })).toThrow(expect.objectContaining({ code: 'ENOMEM' }))
    a.close()
    b.close()
  })
})

describe('what happens in between', () => {
  it('a window that is bound while its region is being deregistered keeps the region: EBUSY, and it is as it was', () => {
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    const entry = host.findKey(b.mr.lkey | 0)
    const { segment } = host
    const { quiesce } = segment
    segment.quiesce = () => {
      host.i32[entry + layout.Key.region] = 1
      quiesce.call(segment)
    }
    try {
      expect(() => b.mr.close()).toThrow(expect.objectContaining({ code: 'EBUSY' }))
      host.i32[entry + layout.Key.region] = 0
      expect(() => b.mr.rereg(4, { access: Access.LocalWrite })).toThrow(expect.objectContaining({ code: 'EBUSY' }))
    } finally {
      segment.quiesce = quiesce
      host.i32[entry + layout.Key.region] = 0
    }
    send(a, b)
    expect(drain(a.cq)).toEqual([{ wrId: 1, status: WcStatus.Success }])
    a.close()
    b.close()
  })

  it('an exception leaves no operation that others would wait for', () => {
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    const { device } = context
    device.doorbell = () => {
      throw new Error('broken device')
    }
    try {
      expect(() => a.qp.postSend({ opcode: Opcode.Send, sgList: [a.sge()] })).toThrow('broken device')
    } finally {
      Reflect.deleteProperty(device, 'doorbell')
    }
    expect(host.i32[host.segment.operationWord]! & 1).toBe(0)
    expect(host.i32[host.qpWord(a.qp.slot) + Qp.sqLock]).toBe(0)
    a.close()
    b.close()
  })
})

describe('a multicast group', () => {
  const group = new Uint8Array(16).fill(0xff)

  it('that the device cannot join leaves the QP as it was', () => {
    const [pd, cq] = [context.allocPd(), context.createCq(4)]
    const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq })
    const { device } = context
    device.joinGroup = () => {
      throw new VerbsError('ENOMEM', 'attachMcast', 'no socket is left')
    }
    try {
      expect(() => qp.attachMcast(group)).toThrow('no socket is left')
    } finally {
      Reflect.deleteProperty(device, 'joinGroup')
    }
    qp.attachMcast(group)
    let left = 0
    device.leaveGroup = () => void left++
    try {
      expect(() => qp.attachMcast(group)).toThrow('attached to the group already')
      expect(left).toBe(1)
    } finally {
      Reflect.deleteProperty(device, 'leaveGroup')
    }
    qp.detachMcast(group)
    qp.close()
    cq.close()
    pd.close()
  })
})

describe('misuse', () => {
  it('of the system, when a device is opened, is a VerbsError with its code and advice', () => {
    registerDriver({
      kind: 'full',
      list: () => [],
      open: (name) => {
        if (name !== 'full') return null
        throw new NativeError('ENOSPC', 28, 'ftruncate', 'the segment could not be made: make /dev/shm larger')
      },
    })
    expect(() => openDevice('full')).toThrow(
      expect.objectContaining({
        name: 'VerbsError',
        code: 'ENOSPC',
        verb: 'openDevice',
        message: expect.stringContaining('make /dev/shm larger'),
      }),
    )
  })

  it('is a VerbsError that names the argument', () => {
    const cq = context.createCq(4)
    const invalid = expect.objectContaining({ name: 'VerbsError', code: 'EINVAL' })
    for (const bad of [undefined, null, 1, {}, 'x']) expect(() => cq.poll(bad as never)).toThrow(invalid)
    expect(() => cq.poll([], 1)).toThrow(invalid)
    cq.close()
  })

  it('quotes a string, which would look like the number or the constant that was wanted', () => {
    const pd = context.allocPd()
    const cq = context.createCq(4)
    const messageOf = (action: () => unknown): string => {
      try {
        action()
      } catch (error) {
        return (error as Error).message
      }
      return 'nothing was thrown'
    }
    expect(messageOf(() => context.createCq('4' as never))).toMatch(/must be an integer from 1 to \d+, not '4' /)
    expect(messageOf(() => pd.createQp({ type: 'RC' as never, sendCq: cq, recvCq: cq }))).toMatch(
      /type must be QpType\.RC, UC, UD or GSI, not 'RC' /,
    )
    cq.close()
    pd.close()
  })

  it.each([
    ['sge', { wrId: 1, sge: [{ addr: 0, length: 4, lkey: 0 }] }],
    ['sg_list', { sg_list: [], num_sge: 0 }],
    ['data', { wrId: 1, next: null, data: 4 }],
  ])('names a field %s that a work request without a list does not have', (name, init) => {
    const wrong = expect.objectContaining({
      code: 'EINVAL',
      message: expect.stringContaining(`no field '${name}', but wr`),
    })
    expect(() => recvWr(init as never)).toThrow(wrong)
    expect(() => sendWr({ opcode: Opcode.Send, ...init } as never)).toThrow(wrong)
    expect(() => sendWr({ opcode: Opcode.Send, next: { opcode: Opcode.Send, ...init } } as never)).toThrow(wrong)
  })

  it('names such a field also beside a list, in the first requests of a thread and in one of 4096 later', async () => {
    vi.resetModules()
    const fresh = await import('../../../src/verbs/provider/work-request.ts')
    const found: number[] = []
    for (let i = 1; i <= 10_000; i++) {
      const send = { wrId: i, opcode: Opcode.Send, send_flags: SendFlag.Signaled, sgList: [] }
      try {
        if (i % 2 === 0) fresh.sendWr(send as never)
        else fresh.recvWr({ sgList: [], wr_id: i } as never)
      } catch (error) {
        expect((error as VerbsError).message).toMatch(/ has no field '(send_flags|wr_id)', but wrId, /)
        found.push(i)
      }
    }
    expect(found.slice(0, 1000)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1))
    expect(found.slice(1000)).toEqual([1000 + 4096, 1000 + 2 * 4096])
  })

  it('of a receive request with the fields of a send request is none', () => {
    expect(recvWr({ wrId: 3, opcode: Opcode.Send, sendFlags: 0 } as never).wrId).toBe(3)
  })
})

describe('memory windows', () => {
  it('do not open what they are bound to now to a key that they had before', () => {
    const { i32, f64 } = host
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    const buffer = context.alloc(8192)
    const mr = a.pd.regMr(buffer, Access.LocalWrite | Access.MwBind)
    const mw = a.pd.allocMw(MwType.Type1)
    a.qp.bindMw(mw, { mr, addr: mr.addr, length: 8192, accessFlags: Access.RemoteWrite })
    const old = mw.rkey | 0
    const resolve = (): number => host.resolve(old, a.pd.slot, mr.addr, 8, Access.RemoteWrite, a.qp.slot)
    expect(resolve()).toBe(mr.addr)
    const window = host.findKey(old)
    // Another thread binds it anew: half before the epoch is read, half after the key was found.
    unbindWindow(host, window)
    host.findKey = (key) => {
      const found = Host.prototype.findKey.call(host, key)
      delete (host as Partial<Host>).findKey
      f64[(window + layout.Key.addr) >> 1] = mr.addr + 4096
      i32[window + layout.Key.key] = incRkey(mw.rkey)
      i32[window + layout.Key.valid] = 1
      return found
    }
    expect(resolve()).toBe(-1)
    mw.close()
    mr.close()
    a.close()
    b.close()
    context.free(buffer)
  })
})
