import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  Access,
  type DeviceInfo,
  endpointOf,
  getDeviceList,
  incRkey,
  MwType,
  Opcode,
  openDevice,
  type QpEndpoint,
  QpState,
  type QpType,
  SendFlag,
  sendWr,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { slow } from '../../property.ts'
import { access, connect, connectQpTo, drain, endParts, makeEnd, Part, until } from './rig.ts'

afterEach(endParts)

describe('devices', () => {
  it('a thread that is started later, and its own threads, find the same devices', async () => {
    const own = getDeviceList().filter(({ name }) => /^shm[01]$/.test(name))
    expect(own.map(({ name }) => name)).toEqual(['shm0', 'shm1'])
    const part = new Part({ part: 'devices', device: 'shm0', depth: 2 })
    for (const depth of [2, 1, 0]) expect(await part.hear<{ list: DeviceInfo[] }>()).toEqual({ depth, list: own })
  })
})

// The engine in a thread of its own takes as long again, and has `npm test`'s programs of the model (test/verbs-model).
describe.each(slow ? (['poster', 'thread'] as const) : (['poster'] as const))('engine %s', (engine) => {
  const options = { engine }
  const [left, right] = [openDevice('shm0', options), openDevice('shm1', options)]
  const device = 'shm0'
  afterAll(() => {
    left.close()
    right.close()
  })

  it('the peer of a thread that was terminated gets RETRY_EXC_ERR, though nobody attaches anew', async () => {
    const end = makeEnd(left)
    const reaped = left.counters().stale_objects_reaped!
    const part = new Part({ part: 'target', device: 'shm1', options })
    const remote = await part.hear<QpEndpoint>()
    const local = endpointOf(end.qp)
    part.say(local)
    connectQpTo(end, local, remote)
    expect(await part.hear()).toBe('ready')
    const send = (): number => {
      end.qp.postSend({ wrId: 1, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [end.sge()] })
      const wc = workCompletions(1)
      while (end.cq.poll(wc) === 0);
      return wc[0]!.status
    }
    expect(send()).toBe(WcStatus.Success)
    await part.worker.terminate()
    await until('the end of what the thread had', () => left.counters().stale_objects_reaped! > reaped)
    expect(send()).toBe(WcStatus.RetryExcErr)
    end.close()
  })

  it('threads that post to one QP lose nothing and double nothing, each in its order', async () => {
    const [a, b] = [makeEnd(left), makeEnd(right)]
    connect(a, b)
    const posters = 3
    const count = slow ? 4000 : 800
    for (let i = 0; i < 64; i++) b.qp.postRecv({ wrId: i, sgList: [b.sge(i * 64)] })
    const parts = Array.from(
      { length: posters },
      (_, i) => new Part({ part: 'poster', device, options, qp: a.qp.handle, tag: i + 1, count }),
    )
    // The owner posts first, so that the queue is its own; then the others come.
    const seen = new Map<number, number>()
    const completed = new Set<number>()
    const mine = new Uint32Array(a.buffer.buffer, a.buffer.byteOffset, 2)
    let posted = 0
    let received = 0
    const wc = workCompletions(16)
    const turn = (): void => {
      if (posted < count) {
        mine[0] = 0
        mine[1] = posted
        try {
          a.qp.postSend({
            wrId: posted,
            opcode: Opcode.Send,
            sendFlags: SendFlag.Signaled | SendFlag.Inline,
            sgList: [a.sge(0, 8)],
          })
          posted++
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENOMEM' })
        }
      }
      for (let n = b.recvCq.poll(wc), i = 0; i < n; i++) {
        expect(wc[i]!.status).toBe(WcStatus.Success)
        const { wrId } = wc[i]!
        const [tag, number] = new Uint32Array(b.buffer.buffer, b.buffer.byteOffset + wrId * 64, 2)
        expect(number).toBe(seen.get(tag!) ?? 0)
        seen.set(tag!, number! + 1)
        received++
        b.qp.postRecv({ wrId, sgList: [b.sge(wrId * 64)] })
      }
      for (const { wrId, status } of drain(a.cq)) {
        expect(status).toBe(WcStatus.Success)
        expect(completed.has(wrId)).toBe(false)
        completed.add(wrId)
      }
    }
    for (let i = 0; i < 500; i++) turn()
    for (const part of parts) expect(await part.hear()).toBe('ready')
    for (const part of parts) part.say('go')
    const total = (posters + 1) * count
    await until('message', () => {
      for (let i = 0; i < 200; i++) turn()
      return received === total && completed.size === total
    })
    for (const part of parts) {
      expect(await part.hear()).toBe('done')
      part.say('end')
    }
    for (const part of parts) await part.ended
    a.close()
    b.close()
  })

  it('two threads that poll one CQ share its completions', async () => {
    const [a, b] = [makeEnd(left), makeEnd(right)]
    connect(a, b)
    const stop = new SharedArrayBuffer(4)
    const parts = [0, 1].map(() => new Part({ part: 'poller', device, options, cq: a.cq.handle, stop }))
    for (const part of parts) expect(await part.hear()).toBe('ready')
    const count = slow ? 20_000 : 4000
    for (let posted = 0; posted < count; ) {
      try {
        a.qp.postSend({
          wrId: posted,
          opcode: Opcode.Write,
          sendFlags: SendFlag.Signaled,
          remoteAddr: b.mr.addr,
          rkey: b.mr.rkey,
          sgList: [a.sge()],
        })
        posted++
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOMEM' })
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await until('empty CQ', () => left.device.host.i32[left.device.host.qpWord(a.qp.slot) + layout.Qp.sqTail] === count)
    Atomics.store(new Int32Array(stop), 0, 1)
    const taken = [await parts[0]!.hear<number[]>(), await parts[1]!.hear<number[]>()]
    for (const each of taken) expect(each).toEqual([...each].sort((x, y) => x - y))
    expect(taken.flat().sort((x, y) => x - y)).toEqual(Array.from({ length: count }, (_, i) => i))
    a.close()
    b.close()
  })

  it('a QP that goes to ERR while another thread posts: each request completes once, in order, then flushed', async () => {
    for (let round = 0; round < (slow ? 5 : 2); round++) {
      const [a, b] = [makeEnd(left), makeEnd(right)]
      connect(a, b)
      const stop = new SharedArrayBuffer(8)
      const wr = {
        opcode: Opcode.Write,
        sendFlags: SendFlag.Signaled,
        remoteAddr: b.mr.addr,
        rkey: b.mr.rkey,
        sgList: [a.sge()],
      }
      const part = new Part({ part: 'flooder', device, options, qp: a.qp.handle, stop, wr })
      expect(await part.hear()).toBe('ready')
      const done: { wrId: number; status: number }[] = []
      const posted = new Int32Array(stop)
      await until('traffic', () => drain(a.cq, done).length > 500 * round)
      a.qp.modify({ state: QpState.Err })
      const at = Atomics.load(posted, 1)
      await until('flushes', () => {
        drain(a.cq, done)
        return Atomics.load(posted, 1) > at + 500
      })
      Atomics.store(posted, 0, 1)
      const total = await part.hear<number>()
      await until('completions', () => drain(a.cq, done).length >= total)
      expect(done.map(({ wrId }) => wrId)).toEqual(Array.from({ length: total }, (_, i) => i))
      const first = done.findIndex(({ status }) => status !== WcStatus.Success)
      expect(first).toBeGreaterThan(0)
      expect(done.slice(first).every(({ status }) => status === WcStatus.WrFlushErr)).toBe(true)
      a.close()
      b.close()
    }
  })

  it.each([
    ['small, of one piece', 64, 1],
    ['large, of two pieces', 1 << 19, 2],
  ])('after the region is deregistered no byte changes: WRITEs that are %s', async (_, bytes, pieces) => {
    const writer = new Part({ part: 'writer', device: 'shm0', options, bytes, pieces })
    for (let round = 0; round < (slow ? 10 : 3); round++) {
      const b = makeEnd(right, { bytes: 1 << 20 })
      const [remote, local] = [await writer.hear<QpEndpoint>(), endpointOf(b.qp)]
      connectQpTo(b, local, remote)
      writer.say({ endpoint: local, addr: b.mr.addr, rkey: b.mr.rkey })
      expect(await writer.hear()).toBe('connected')
      const start = b.buffer[bytes - 1]
      await until('first WRITE', () => b.buffer[bytes - 1] !== start)
      b.closeMr()
      const after = b.buffer.slice(0, bytes)
      expect(await writer.hear()).toBe('failed')
      expect(Buffer.compare(after, b.buffer.subarray(0, bytes))).toBe(0)
      b.close()
    }
    await writer.hear()
    writer.say('end')
    await writer.ended
  })

  it.each([
    ['LOCAL_INV of a type 2 window', MwType.Type2],
    ['binding a type 1 window to something else', MwType.Type1],
  ])('after the completion of %s no byte changes', async (_, type) => {
    const bytes = 1 << 19
    const writer = new Part({ part: 'writer', device: 'shm0', options, bytes, pieces: 2 })
    for (let round = 0; round < (slow ? 10 : 3); round++) {
      const b = makeEnd(right, { bytes: 1 << 20 })
      const mr = b.pd.regMr(b.buffer, access | Access.MwBind)
      const mw = b.pd.allocMw(type)
      const [remote, local] = [await writer.hear<QpEndpoint>(), endpointOf(b.qp)]
      connectQpTo(b, local, remote)
      const info = { mr, addr: mr.addr, length: bytes, accessFlags: Access.RemoteWrite }
      const rkey = incRkey(mw.rkey)
      if (type === MwType.Type1) b.qp.bindMw(mw, info)
      else
        b.qp.postSend({ wrId: 1, opcode: Opcode.BindMw, sendFlags: SendFlag.Signaled, bindMw: { mw, rkey, ...info } })
      const done: { wrId: number; status: number }[] = []
      await until('binding', () => drain(b.cq, done).length > 0)
      expect(done).toMatchObject([{ status: WcStatus.Success }])
      writer.say({ endpoint: local, addr: mr.addr, rkey })
      expect(await writer.hear()).toBe('connected')
      const start = b.buffer[bytes - 1]
      await until('first WRITE', () => b.buffer[bytes - 1] !== start)
      if (type === MwType.Type1) b.qp.bindMw(mw, { ...info, addr: mr.addr + bytes })
      else b.qp.postSend({ wrId: 2, opcode: Opcode.LocalInv, sendFlags: SendFlag.Signaled, invalidateRkey: rkey })
      while (drain(b.cq).length === 0);
      const after = b.buffer.slice(0, bytes)
      expect(await writer.hear()).toBe('failed')
      expect(Buffer.compare(after, b.buffer.subarray(0, bytes))).toBe(0)
      mw.close()
      mr.close()
      b.close()
    }
    await writer.hear()
    writer.say('end')
    await writer.ended
  })

  it('a CQ that is resized while a peer completes to it keeps everything', async () => {
    const b = makeEnd(right, { cqe: 128 })
    const count = slow ? 20_000 : 4000
    const sender = new Part({ part: 'sender', device, options, count })
    const [remote, local] = [await sender.hear<QpEndpoint>(), endpointOf(b.qp)]
    connectQpTo(b, local, remote)
    for (let i = 0; i < 64; i++) b.qp.postRecv({ wrId: i, sgList: [b.sge()] })
    sender.say(local)
    expect(await sender.hear()).toBe('connected')
    const wc = workCompletions(16)
    let received = 0
    let resized = 0
    await until('message', () => {
      for (let i = 0; i < 100; i++) {
        const n = b.recvCq.poll(wc)
        for (let j = 0; j < n; j++) {
          expect([wc[j]!.status, wc[j]!.immData]).toEqual([WcStatus.Success, received])
          received++
          b.qp.postRecv({ wrId: wc[j]!.wrId, sgList: [b.sge()] })
        }
        if (received < count) b.recvCq.resize(100 + ((resized++ * 64) % 500))
      }
      return received === count
    })
    expect(resized).toBeGreaterThan(10)
    expect(await sender.hear()).toEqual({ posted: count, failed: [] })
    sender.say('end')
    await sender.ended
    b.close()
  })
})

describe('a thread that is slow at the worst moment', () => {
  const [left, right] = [openDevice('shm0'), openDevice('shm1')]

  it('while it resizes a CQ loses nothing that others complete to it', async () => {
    const [a, b] = [makeEnd(left), makeEnd(right, { cqe: 200 })]
    connect(a, b)
    const part = new Part({ part: 'slowResizer', device: 'shm1', cq: b.recvCq.handle })
    expect(await part.hear()).toBe('ready')
    const wc = workCompletions(16)
    let ended = false
    const hasEnded = (): void => {
      ended = true
    }
    part.hear().then(hasEnded, hasEnded)
    let posted = 0
    let received = 0
    let missing = 0
    await until('end of resizing', () => {
      for (let i = 0; i < 50; i++) {
        b.qp.postRecv({ wrId: posted, sgList: [b.sge()] })
        a.qp.postSend({ wrId: posted++, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
        drain(a.cq)
        for (let n = b.recvCq.poll(wc); n > 0; n = b.recvCq.poll(wc)) received += n
      }
      missing = received === posted ? 0 : missing + 1
      return ended || missing > 20
    })
    expect(received).toBe(posted)
    part.say('end')
    await part.ended
    a.close()
    b.close()
  })

  it('when it flushes a QP that is gone, does nothing to the QP that has its place now', async () => {
    const offender = new Part({ part: 'slowOffender', device: 'shm0' })
    const victim = makeEnd(right)
    const [remote, local] = [await offender.hear<QpEndpoint>(), endpointOf(victim.qp)]
    connectQpTo(victim, local, remote)
    offender.say({ endpoint: local, addr: victim.mr.addr, rkey: 0 })
    await until('error', () => victim.qp.state === QpState.Err)
    const { slot } = victim.qp
    victim.close()
    let next = makeEnd(right)
    for (let tries = 0; next.qp.slot !== slot && tries < 1000; tries++) {
      next.close()
      next = makeEnd(right)
    }
    expect(next.qp.slot).toBe(slot)
    const peer = makeEnd(left)
    connect(next, peer)
    expect(await offender.hear()).toBe('flushed')
    expect(next.qp.state).toBe(QpState.Rts)
    offender.say('end')
    await offender.ended
    next.close()
    peer.close()
  })
})

describe('what must not stop everything', () => {
  const context = openDevice('shm0')
  const host = context.device.host
  const inOperation = (): number => host.i32[host.segment.operationWord]! & 1

  it('QPs that wait for an SRQ and are destroyed leave its list of waiters intact', async () => {
    const srqPart = new Part({ part: 'srqWaiters', device: 'shm0' })
    expect(await srqPart.hear()).toBe('done')
  })

  it('a receiver that posts receives disturbs a sender that waits no longer not at all', () => {
    const [a, b] = [makeEnd(context), makeEnd(context)]
    connect(a, b)
    a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
    b.qp.postRecv({ sgList: [b.sge()] })
    expect(drain(a.cq)).toEqual([{ wrId: 0, status: WcStatus.Success }])
    b.qp.postRecv({ sgList: [b.sge()] })
    expect(host.i32[host.qpWord(b.qp.slot) + layout.Qp.rqWaiting]).toBe(0)
    a.close()
    b.close()
  })

  // A prepared request may be changed by its owner at will. What is in it then must neither leave a lock behind nor
  // reach memory that no key covers, be it refused with EINVAL or end with an error completion.
  const wrongFields: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['remoteAddr NaN', { remoteAddr: Number.NaN }, {}],
    ['remoteAddr 2^60', { remoteAddr: 2 ** 60 }, {}],
    ['addr NaN', {}, { addr: Number.NaN }],
    ['addr −100', {}, { addr: -100 }],
    ['length −8', {}, { length: -8 }],
    ['length NaN', {}, { length: Number.NaN }],
    ['length 2^40', {}, { length: 2 ** 40 }],
    ['length 0.5', {}, { length: 0.5 }],
    ['length a string', {}, { length: '64' }],
    ['no scatter/gather list', { sgList: undefined }, {}],
    ['an opcode that is none', { opcode: 31 }, {}],
    ['FETCH_ADD of a number', { opcode: Opcode.AtomicFetchAndAdd, compareAdd: 1 }, { length: 8 }],
  ]
  describe.each([0, SendFlag.Inline])('flags %i', (flags) => {
    it.each(wrongFields)('a prepared request with %s', (_, fields, element) => {
      const [a, b] = [makeEnd(context), makeEnd(context)]
      connect(a, b)
      const wr = sendWr<typeof QpType.RC>({
        opcode: Opcode.Write,
        sendFlags: SendFlag.Signaled | flags,
        remoteAddr: b.mr.addr,
        rkey: b.mr.rkey,
        sgList: [a.sge()],
      })
      for (let i = 0; i < 3; i++) {
        a.qp.postSend(wr)
        expect(drain(a.cq)).toEqual([{ wrId: 0, status: WcStatus.Success }])
      }
      const header = host.i32.slice(0, 16)
      Object.assign(wr, fields)
      if (wr.sgList) Object.assign(wr.sgList[0]!, element)
      try {
        a.qp.postSend(wr)
        drain(a.cq)
      } catch (error) {
        expect(error).toMatchObject({ code: 'EINVAL' })
      } finally {
        const q = host.qpWord(a.qp.slot)
        const d = host.qpWord(b.qp.slot)
        const state = {
          inOperation: inOperation(),
          locks: [host.i32[q + layout.Qp.sqLock], host.i32[d + layout.Qp.rqLock]],
          header: [...host.i32.slice(0, 9)],
        }
        // So that one failure is one failure.
        if (inOperation() === 1) host.segment.leave()
        host.i32[q + layout.Qp.sqLock] = 0
        host.i32[d + layout.Qp.rqLock] = 0
        host.i32.set(header, 0)
        expect(state).toEqual({ inOperation: 0, locks: [0, 0], header: [...header.subarray(0, 9)] })
      }
      a.close()
      b.close()
    })
  })
})
