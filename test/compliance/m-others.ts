/** Group M of the conformance list: access flags, sharing of objects, threads. */
import { expect } from 'vitest'
import { Access, Opcode, type QpEndpoint, QpState, QpType, WcStatus, workCompletions } from '../../src/index.ts'
import { slow } from '../property.ts'
import { type End, expectBytes, fullAccess, pattern } from './end.ts'
import { copyOf, expectThrow, type Group } from './rig.ts'
import { type ChurnData, type PollerData, type PosterData, start, type VictimData } from './threads/start.ts'

/** How much of it: all in the slower suites. */
const share = (n: number): number => (slow ? n : n / 5)

export const groupM: Group = (it) => {
  it('122 relaxed ordering is accepted, alone and with everything else', async (t) => {
    for (const access of [Access.RelaxedOrdering, fullAccess | Access.RelaxedOrdering]) {
      const [a, b] = t.pair(QpType.RC, { a: { access }, b: { access: fullAccess | Access.RelaxedOrdering } })
      a.buffer.set(pattern(1024))
      expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
      expectBytes(b.buffer.subarray(0, 1024), pattern(1024))
    }
  })

  it('123 an imported PD: a region of it serves the QPs of the original', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const other = t.own(t.rig.open(0))
    const pd = t.own(other.importPd(structuredClone(a.pd.handle)))
    const buffer = t.alloc(other, 4096)
    const mr = t.own(pd.regMr(buffer, fullAccess))
    buffer.set(pattern(1024, 6))
    const sgList = [{ addr: mr.addr, length: 1024, lkey: mr.lkey }]
    expect(await t.run(a, Opcode.Write, b, { sgList })).toMatchObject({ status: 'Success' })
    expectBytes(b.buffer.subarray(0, 1024), pattern(1024, 6))
    expect(await t.run(b, Opcode.Read, null, { remoteAddr: mr.addr, rkey: mr.rkey, offset: 4096 })).toMatchObject({
      status: 'Success',
    })
    expectBytes(b.buffer.subarray(4096, 5120), pattern(1024, 6))
  })

  it('123 imported QP, CQ, MR and SRQ work beside the originals', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const other = t.own(t.rig.open(0))
    const qp = t.own(other.importQp(structuredClone(a.qp.handle)))
    const cq = t.own(other.importCq(structuredClone(a.sendCq.handle)))
    const mr = t.own(other.importMr(structuredClone(a.mr.handle)))
    expect([mr.addr, mr.length, mr.lkey, mr.rkey]).toEqual([a.mr.addr, a.mr.length, a.mr.lkey, a.mr.rkey])
    expect(qp.qpNum).toBe(a.qp.qpNum)
    b.recv(5)
    qp.postSend(a.request(Opcode.Send, b, { wrId: 9 }) as never)
    await t.expectCompletion(cq, { wrId: 9, status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 5, status: 'Success' })
    const srq = t.own(a.pd.createSrq({ maxWr: 2 }))
    const again = t.own(other.importSrq(structuredClone(srq.handle)))
    again.postRecv({ sgList: [a.sge()] })
    again.postRecv({ sgList: [a.sge()] })
    expectThrow('ENOMEM', () => srq.postRecv({ sgList: [a.sge()] }))
  })

  it('123 a handle of something that is closed or never was is refused', (t) => {
    const a = t.end(0, QpType.RC)
    const other = t.own(t.rig.open(0))
    const { handle } = a.qp
    const pd = a.context.allocPd()
    const gone = pd.handle
    pd.close()
    t.close(a.qp)
    expectThrow(['EINVAL', 'EBADF', 'ENXIO'], () => other.importQp(handle))
    expectThrow(['EINVAL', 'EBADF', 'ENXIO'], () => other.importPd(gone))
    for (const nothing of [null, undefined, {}, 7, 'qp']) {
      expectThrow(['EINVAL', 'EBADF', 'ENXIO'], () => other.importQp(nothing as never))
      expectThrow(['EINVAL', 'EBADF', 'ENXIO'], () => other.importCq(nothing as never))
      expectThrow(['EINVAL', 'EBADF', 'ENXIO'], () => other.importMr(nothing as never))
    }
  })

  it('126 thread churn: QPs, CQs and MRs are made, used and destroyed in parallel', async (t) => {
    const rounds = share(60)
    const options = t.rig.options ?? {}
    const [a, b] = t.pair(QpType.RC)
    const threads = t.rig.names.map((name) => start<ChurnData>(t, 'churn', { name, options, rounds }))
    let done = false
    const reports = Promise.all(threads.map((thread) => thread.next<{ rounds: number }>())).finally(() => {
      done = true
    })
    reports.catch(() => {})
    // Traffic of this thread goes on meanwhile.
    for (let i = 0; !done; i++) {
      a.buffer.set(pattern(256, i))
      expect(await t.run(a, Opcode.Write, b, { wrId: i, length: 256 })).toMatchObject({ wrId: i, status: 'Success' })
      expectBytes(b.buffer.subarray(0, 256), pattern(256, i))
      await t.turn()
    }
    expect(await reports).toMatchObject([{ rounds }, { rounds }])
  })

  it('126 a QP destroyed while its peer sends: every request completes once, in order, the last with RETRY_EXC_ERR', async (t) => {
    const rounds = share(10)
    const victim = start<VictimData>(t, 'victim', { name: t.rig.names[1], options: t.rig.options ?? {}, rounds })
    for (let round = 0; round < rounds; round++) {
      const a = t.end(0, QpType.RC)
      const { endpoint } = await victim.next<{ endpoint: QpEndpoint }>()
      t.connectTo(a as unknown as End, endpoint, {
        timeout: a.context.device.driven ? 16 : 10,
        retryCnt: 3,
        minRnrTimer: 1,
      })
      victim.post(a.endpoint)
      expect(await victim.next()).toBe('ready')
      const wc = workCompletions(16)
      const statuses: string[] = []
      let posted = 0
      await t.until('error', () => {
        while (posted - statuses.length < 32 && a.qp.state === QpState.Rts)
          a.post(Opcode.Send, null, { wrId: posted++, length: 64 })
        const n = a.sendCq.poll(wc)
        for (const each of wc.slice(0, n)) {
          expect(each.wrId).toBe(statuses.length)
          statuses.push(copyOf(each).status)
        }
        return wc[0]!.status !== WcStatus.Success && statuses.length === posted
      })
      const failed = statuses.findIndex((status) => status !== 'Success')
      expect(failed).toBeGreaterThanOrEqual(40)
      expect(statuses[failed]).toBe('RetryExcErr')
      expect(statuses.slice(failed + 1).every((status) => status === 'WrFlushErr')).toBe(true)
      expect(await victim.next()).toBe('closed')
    }
  })

  it('126 three threads post to one QP: every message arrives once, and those of each thread in order', async (t) => {
    const count = share(600)
    const slots = 32
    const [a, b] = t.pair(QpType.RC, { cap: { maxSendWr: slots, maxRecvWr: slots } })
    const options = t.rig.options ?? {}
    const posters = [1, 2].map((i) => {
      const data = { name: t.rig.names[0], options, qp: a.qp.handle, sge: a.sge(0, 64), first: i * 10_000, count }
      return start<PosterData>(t, 'poster', data)
    })
    for (const poster of posters) expect(await poster.next()).toBe('ready')
    for (const poster of posters) poster.post('go')
    for (let i = 0; i < slots; i++) b.recv(i, 4096, 64)
    const sent: number[] = []
    const received: number[] = []
    const wc = workCompletions(16)
    let posted = 0
    await t.until('end of the traffic', () => {
      for (let n = a.sendCq.poll(wc); n > 0; n = a.sendCq.poll(wc)) {
        for (const each of wc.slice(0, n)) {
          expect(copyOf(each).status).toBe('Success')
          sent.push(each.wrId)
        }
      }
      for (let n = b.recvCq.poll(wc); n > 0; n = b.recvCq.poll(wc)) {
        for (const each of wc.slice(0, n)) {
          received.push(each.immData)
          b.recv(each.wrId, 4096, 64)
        }
      }
      try {
        if (posted < count) a.post(Opcode.SendWithImm, b, { wrId: posted, immData: posted, length: 64 })
        posted++
      } catch (error) {
        expectThrow('ENOMEM', () => {
          throw error
        })
      }
      return received.length === 3 * count && sent.length === 3 * count
    })
    for (const numbers of [sent, received]) {
      for (const first of [0, 10_000, 20_000]) {
        const stream = numbers.filter((number) => Math.floor(number / 10_000) * 10_000 === first)
        expect(stream).toEqual(Array.from({ length: count }, (_, i) => first + i))
      }
    }
    for (const poster of posters) expect(await poster.next()).toBe('done')
    await t.expectQuiet(a.sendCq, b.recvCq)
  })

  it('126 the place of a receive is free as soon as its completion can be polled', async (t) => {
    const count = share(3000)
    const [a, b] = t.pair(QpType.RC, { b: { cap: { maxRecvWr: 8 } }, connect: { minRnrTimer: 1 } })
    const options = t.rig.options ?? {}
    const data = { name: t.rig.names[0], options, qp: a.qp.handle, sge: a.sge(0, 64), first: 0, count }
    const poster = start<PosterData>(t, 'poster', data)
    expect(await poster.next()).toBe('ready')
    for (let i = 0; i < b.qp.cap.maxRecvWr; i++) b.recv(i, 4096, 64)
    poster.post('go')
    const wc = workCompletions(1)
    let received = 0
    await t.until('end of the traffic', () => {
      for (let spins = 0; spins < 2000; spins++) {
        a.sendCq.poll(wc)
        if (b.recvCq.poll(wc) === 0) continue
        expect(wc[0]!.immData).toBe(received++)
        // The queue was full, and one of its receives has completed.
        b.recv(received, 4096, 64)
      }
      return received === count
    })
    expect(await poster.next()).toBe('done')
  })

  it('126 three threads poll one CQ: every completion is taken once', async (t) => {
    const count = share(3000)
    const [a, b] = t.pair(QpType.RC)
    const options = t.rig.options ?? {}
    const elsewhere = new Int32Array(new SharedArrayBuffer(4))
    const data = { name: t.rig.names[0], options, cq: a.sendCq.handle, taken: elsewhere }
    const pollers = [1, 2].map(() => start<PollerData>(t, 'poller', data))
    for (const poller of pollers) expect(await poller.next()).toBe('ready')
    const taken: number[] = []
    const wc = workCompletions(3)
    for (let i = 0; i < count; ) {
      try {
        a.post(Opcode.Write, b, { wrId: i, length: 8 })
        i++
      } catch (error) {
        expectThrow('ENOMEM', () => {
          throw error
        })
        for (const each of wc.slice(0, a.sendCq.poll(wc))) taken.push(each.wrId)
        await t.turn()
      }
    }
    await t.until('the last completion', () => {
      for (const each of wc.slice(0, a.sendCq.poll(wc))) taken.push(each.wrId)
      return taken.length + Atomics.load(elsewhere, 0) >= count
    })
    for (const poller of pollers) poller.post('end')
    for (const poller of pollers) taken.push(...(await poller.next<number[]>()))
    expect(taken.sort((x, y) => x - y)).toEqual(Array.from({ length: count }, (_, i) => i))
  })
}
