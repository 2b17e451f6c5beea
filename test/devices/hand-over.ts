/** What is tested of each kind of device: requests to queue pairs that another process hosts, and between two such processes. Each touches its own memory only. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  connectQp,
  defaultQkey,
  endpointOf,
  Opcode,
  openDevice,
  pathTo,
  type QpEndpoint,
  QpState,
  QpType,
  SendFlag,
  WcStatus,
  type WorkCompletion,
} from '../../src/index.ts'
import { nativeAvailable, nativeReason } from '../../src/memory/index.ts'
import { startable } from '../entries.ts'
import { endMemoryProcesses, MemoryProcess } from '../memory/memory-process.ts'
import { type Census, census } from '../verbs/census.ts'
import type { HostsOptions, HostsOrder } from './shm/hosts.process.ts'
import { type Place, patientTiming, Side, sge, timing } from './shm/process-rig.ts'
import { until } from './shm/rig.ts'

const bytes = 1 << 20

/** The other process. */
export class Hosting {
  readonly child: ChildProcess
  readonly completions: { what: string; wrId: number; status: number; byteLen: number }[] = []
  endpoint!: QpEndpoint
  address = 0
  rkey = 0
  #done = 0
  #mem = -1

  constructor(device: string, options: HostsOptions) {
    const { file, execArgv } = startable(new URL('./shm/hosts.process.ts', import.meta.url))
    this.child = fork(file, [device, JSON.stringify(options)], { execArgv, serialization: 'advanced' })
    this.child.on('message', (message) => {
      if (message === 'done') this.#done++
      else if ('what' in (message as object)) this.completions.push(message as (typeof this.completions)[0])
    })
  }

  async begin(): Promise<this> {
    const [hello] = (await once(this.child, 'message')) as [{ endpoint: QpEndpoint; address: number; rkey: number }]
    Object.assign(this, hello)
    this.#mem = openSync(`/proc/${this.child.pid}/mem`, 'r+')
    return this
  }

  async order(order: HostsOrder): Promise<void> {
    const before = this.#done
    this.child.send(order)
    await until('an answer', () => this.#done > before)
  }

  peek(offset: number, length: number): Uint8Array {
    const into = new Uint8Array(length)
    readSync(this.#mem, into, 0, length, this.address + offset)
    return into
  }

  poke(offset: number, from: Uint8Array): void {
    writeSync(this.#mem, from, 0, from.length, this.address + offset)
  }

  async end(): Promise<void> {
    if (this.#mem >= 0) closeSync(this.#mem)
    this.#mem = -1
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    this.child.kill('SIGKILL')
    await once(this.child, 'exit')
  }
}

/** `own` is the device of this process, `others` that of the other one. `short` leaves out what is nearly the same. */
export function testHandOver(
  own: string,
  others: string,
  suite: { short?: boolean; patient?: boolean; end?: () => void } = {},
): void {
  if (!nativeAvailable) {
    it.skip(`needs the native layer: ${nativeReason}`, () => {})
    return
  }
  const context = openDevice(own)
  let first: MemoryProcess
  beforeAll(async () => {
    first = await MemoryProcess.start(bytes)
    // This thread keeps memory for its copies from now on.
    const side = new Side(context)
    side.inProcess(first)
    side.close()
    idle = census(context)
  })
  let idle: Census
  let a: Side
  let other: Hosting
  afterEach(async () => {
    await other.end()
    if (!a.qp.closed) a.close()
  })
  afterAll(async () => {
    await endMemoryProcesses()
    context.close()
    suite.end?.()
  })

  async function make(hosted: boolean, options: Partial<HostsOptions> = {}, connected = {}): Promise<Place> {
    const type = options.type ?? QpType.RC
    other = await new Hosting(others, { type, bytes, patient: suite.patient === true, ...options }).begin()
    a = new Side(context, { type, hosted })
    const local = endpointOf(a.qp)
    connectQp(a.qp, local, type === QpType.UD ? null : other.endpoint, {
      ...timing,
      ...(suite.patient ? patientTiming : {}),
      ...connected,
    })
    await other.order({ connect: local })
    return hosted ? a.inProcess(first) : a.inSegment(bytes)
  }

  async function sent(status: number = WcStatus.Success): Promise<WorkCompletion> {
    const all: WorkCompletion[] = []
    await until('a completion', () => {
      context.device.progress()
      all.push(...a.completions(a.sendCq))
      return all.length > 0
    })
    expect(all).toMatchObject([{ status }])
    return all[0]!
  }

  async function received(count: number): Promise<(typeof other.completions)[0]> {
    await until('a receive', () => other.completions.length >= count)
    return other.completions[count - 1]!
  }

  const pattern = (length: number, seed: number): Uint8Array =>
    Uint8Array.from({ length }, (_, i) => (i * 11 + (i >> 8) + seed) & 0xff)
  const equal = (x: Uint8Array, y: Uint8Array): void => expect(Buffer.from(x).equals(Buffer.from(y))).toBe(true)

  const all = [
    { from: 'a queue pair of the segment', hosted: false },
    { from: 'a hosted queue pair', hosted: true },
  ]
  describe.each(suite.short ? all.slice(1) : all)('from $from', ({ hosted }) => {
    it('every operation, short and long', async () => {
      const own = await make(hosted)
      let receives = 0
      for (const length of [8, 300, 70_000, 300_000]) {
        const post = (opcode: number, more: object = {}): void =>
          a.qp.postSend({
            opcode,
            sendFlags: SendFlag.Signaled,
            sgList: [sge(own, 100, length)],
            remoteAddr: other.address + 4096,
            rkey: other.rkey,
            ...more,
          } as never)
        own.poke(100, pattern(length, 1))
        await other.order({ receive: { wrId: length, addr: other.address, length } })
        post(Opcode.Send)
        await sent()
        expect(await received(++receives)).toMatchObject({ what: 'received', wrId: length, status: 0, byteLen: length })
        equal(other.peek(0, length), pattern(length, 1))

        own.poke(100, pattern(length, 2))
        post(Opcode.Write)
        await sent()
        equal(other.peek(4096, length), pattern(length, 2))

        own.poke(100, pattern(length, 3))
        await other.order({ receive: { wrId: 1, addr: other.address, length: 0 } })
        post(Opcode.WriteWithImm, { immData: 5 })
        await sent()
        expect(await received(++receives)).toMatchObject({ wrId: 1, status: 0, byteLen: length })
        equal(other.peek(4096, length), pattern(length, 3))

        other.poke(4096, pattern(length, 4))
        post(Opcode.Read)
        expect(await sent()).toMatchObject({ byteLen: length })
        equal(own.peek(100, length), pattern(length, 4))
      }
      other.poke(8, Uint8Array.of(7, 0, 0, 0, 0, 0, 0, 0))
      a.qp.postSend({
        opcode: Opcode.AtomicFetchAndAdd,
        compareAdd: 3n,
        sendFlags: SendFlag.Signaled,
        sgList: [sge(own, 0, 8)],
        remoteAddr: other.address + 8,
        rkey: other.rkey,
      })
      await sent()
      expect([own.peek(0, 1)[0], other.peek(8, 1)[0]]).toEqual([7, 10])
    })

    it('many at once, in order', async () => {
      const own = await make(hosted)
      const count = 40
      for (let i = 0; i < count; i++)
        await other.order({ receive: { wrId: i, addr: other.address + 64 * i, length: 64 } })
      for (let i = 0; i < count; i++) {
        own.poke(64 * i, pattern(64, i))
        a.qp.postSend({ wrId: i, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 64 * i, 64)] })
      }
      const ids: number[] = []
      await until('completions', () => {
        context.device.progress()
        for (const { wrId, status } of a.completions(a.sendCq)) ids.push(status === 0 ? wrId : -status)
        return ids.length === count
      })
      expect(ids).toEqual(Array.from({ length: count }, (_, i) => i))
      await received(count)
      expect(other.completions.map(({ wrId }) => wrId)).toEqual(ids)
      for (let i = 0; i < count; i++) equal(other.peek(64 * i, 64), pattern(64, i))
    })

    it('an SRQ, and no receive at first', async () => {
      const before = context.counters().rcvd_rnr_err!
      const own = await make(hosted, { srq: 'hosted' })
      own.poke(0, pattern(16, 9))
      a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 0, 16)] })
      await until('the RNR NAK', () => {
        context.device.progress()
        return context.counters().rcvd_rnr_err! > before
      })
      await other.order({ receive: { wrId: 3, addr: other.address, length: 16 } })
      await sent()
      expect(await received(1)).toMatchObject({ wrId: 3, status: 0 })
      equal(other.peek(0, 16), pattern(16, 9))
    })

    it('datagrams', async () => {
      const own = await make(hosted, { type: QpType.UD })
      own.poke(0, pattern(100, 2))
      await other.order({ receive: { wrId: 4, addr: other.address, length: 200 } })
      const ah = a.pd.createAh(pathTo(other.endpoint))
      const post = (): void =>
        a.qp.postSend({
          opcode: Opcode.Send,
          sendFlags: SendFlag.Signaled,
          sgList: [sge(own, 0, 100)],
          ah,
          remoteQpn: other.endpoint.qpn,
          remoteQkey: defaultQkey,
        } as never)
      post()
      await sent()
      expect(await received(1)).toMatchObject({ wrId: 4, status: 0, byteLen: 140 })
      equal(other.peek(40, 100), pattern(100, 2))
      // Without a receive it is dropped.
      post()
      await sent()
      ah.close()
    })

    it('what the other end forbids', async () => {
      const own = await make(hosted)
      a.qp.postSend({
        opcode: Opcode.Read,
        sendFlags: SendFlag.Signaled,
        sgList: [sge(own, 0, 8)],
        remoteAddr: other.address + bytes - 7,
        rkey: other.rkey,
      })
      await sent(WcStatus.RemAccessErr)
      expect(a.qp.state).toBe(QpState.Err)
    })

    it('a process that stops is a peer that does not answer', async () => {
      const own = await make(hosted, {}, { timeout: 1, retryCnt: 1 })
      other.child.kill('SIGSTOP')
      a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [sge(own, 0, 8)] })
      await sent(WcStatus.RetryExcErr)
    })

    it('a process that is killed in the middle', async () => {
      const own = await make(hosted, {}, { timeout: 12, retryCnt: 1 })
      other.child.kill('SIGSTOP')
      for (let i = 0; i < 3; i++)
        a.qp.postSend({
          opcode: Opcode.Read,
          sendFlags: SendFlag.Signaled,
          sgList: [sge(own, 0, 8)],
          remoteAddr: other.address,
          rkey: other.rkey,
        })
      other.child.kill('SIGKILL')
      const statuses: number[] = []
      await until('the end', () => {
        context.device.progress()
        for (const { status } of a.completions(a.sendCq)) statuses.push(status)
        return statuses.length === 3
      })
      expect(statuses).toEqual([WcStatus.RetryExcErr, WcStatus.WrFlushErr, WcStatus.WrFlushErr])
      a.close()
      await other.end()
      await until('the end of what it had', () => JSON.stringify(census(context)) === JSON.stringify(idle))
    })
  })

  it('the other process posts, too', async () => {
    const own = await make(true)
    const { host } = context.device
    let wanted = 0
    host.refill = () => {
      wanted++
      a.postRecv({ wrId: 6, sgList: [sge(own, 0, 32)] })
    }
    other.poke(0, pattern(32, 8))
    const target = { remoteAddr: own.mr.addr + 4096, rkey: own.mr.rkey }
    const orders = [
      { opcode: Opcode.Send, offset: 0, length: 32, ...target },
      { opcode: Opcode.Write, offset: 0, length: 32, ...target },
      { opcode: Opcode.Read, offset: 512, length: 32, ...target },
      { opcode: Opcode.AtomicFetchAndAdd, offset: 1024, length: 8, ...target, compareAdd: '1' },
    ]
    for (const post of orders) await other.order({ post })
    await until('their completions', () => {
      context.device.progress()
      return other.completions.length === orders.length
    })
    host.refill = null
    expect(other.completions.map(({ status }) => status)).toEqual(orders.map(() => 0))
    expect(wanted).toBe(1)
    a.received()
    equal(own.peek(0, 32), pattern(32, 8))
    equal(other.peek(512, 32), pattern(32, 8))
    equal(other.peek(1024, 8), pattern(8, 8))
    expect(own.peek(4096, 1)[0]).toBe((pattern(1, 8)[0]! + 1) & 0xff)
  })
}
