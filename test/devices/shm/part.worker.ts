/** The parts that other threads play in threads.test.ts. A part says what it has to, and ends when it is told or done. */
import { parentPort } from 'node:worker_threads'
import {
  Access,
  type CqHandle,
  connectQp,
  endpointOf,
  getDeviceList,
  Opcode,
  openDevice,
  type QpEndpoint,
  type QpHandle,
  QpState,
  type QpType,
  SendFlag,
  type SrqHandle,
  sendWr,
  VerbsError,
  workCompletions,
} from '../../../src/index.ts'
import { startThread, threadData } from '../../../src/memory/index.ts'
import { access, connect, drain, makeEnd, type PartData, timing } from './rig.ts'

const data = threadData<PartData>()
const port = parentPort!
const say = (message: unknown): void => port.postMessage(message)
const hear = <T>(): Promise<T> => new Promise((resolve) => port.once('message', (message) => resolve(message as T)))
const pause = new Int32Array(new SharedArrayBuffer(4))
const nap = (): void => void Atomics.wait(pause, 0, 0, 0.1)

interface Target {
  endpoint: QpEndpoint
  addr: number
  rkey: number
}

const parts: Record<string, () => Promise<void>> = {
  /** Makes objects, says their handles, and ends without closing them when it is told. */
  async owner() {
    const context = openDevice(data.device, data.options)
    const pd = context.allocPd()
    const srq = pd.createSrq({ maxWr: 16 })
    const buffer = context.alloc(4096)
    const mr = pd.regMr(buffer, access | Access.MwBind)
    const cq = context.createCq(16, { channel: context.createCompChannel() })
    say({ pd: pd.handle, cq: cq.handle, srq: srq.handle, mr: mr.handle, addr: mr.addr, rkey: mr.rkey })
    await hear()
    process.exit()
  },

  /** Opens its device, and waits. */
  async opens() {
    openDevice(data.device, data.options)
    say('open')
    await hear()
  },

  /** Makes and destroys objects without end, and counts; says how others name its use of the segment. */
  async changer() {
    const context = openDevice(data.device, data.options)
    const counter = new Int32Array(data.counter as SharedArrayBuffer)
    say(context.device.host.segment.lockValue)
    for (;;) {
      context.allocPd().close()
      Atomics.add(counter, 0, 1)
    }
  },

  /** Closes a CQ and an SRQ, the one that it is told; whoever tells it lets that take long. */
  async closer() {
    const context = openDevice(data.device, data.options)
    const objects = { cq: context.createCq(16), srq: context.allocPd().createSrq({ maxWr: 16 }) }
    say({ cq: objects.cq.slot, srq: objects.srq.slot })
    objects[(await hear()) as keyof typeof objects].close()
  },

  /** Resizes an imported CQ and SRQ, and ends. */
  async resizer() {
    const context = openDevice(data.device, data.options)
    context.importCq(data.cq as CqHandle).resize(64)
    context.importSrq(data.srq as SrqHandle).modify({ maxWr: 64 })
  },

  /** Says what devices it sees; with `depth` left, so does a thread of its own. */
  async devices() {
    const list = getDeviceList().filter(({ name }) => /^shm[01]$/.test(name))
    const depth = data.depth as number
    say({ depth, list })
    if (depth === 0) return
    const worker = startThread(new URL(import.meta.url), { workerData: { ...data, depth: depth - 1 } })
    await new Promise<void>((resolve) => {
      worker.on('message', say)
      worker.on('exit', () => resolve())
    })
  },

  /** Posts `count` numbered messages to an imported QP; `tag` says whose they are. */
  async poster() {
    const context = openDevice(data.device, data.options)
    const qp = context.importQp(data.qp as QpHandle & { type: typeof QpType.RC })
    const tag = data.tag as number
    const buffer = context.alloc(4096)
    const u32 = new Uint32Array(buffer.buffer, buffer.byteOffset, 2)
    const mr = qp.pd.regMr(buffer, 0)
    const wr = sendWr<typeof QpType.RC>({
      opcode: Opcode.Send,
      sendFlags: SendFlag.Signaled | SendFlag.Inline,
      sgList: [{ addr: mr.addr, length: 8, lkey: mr.lkey }],
    })
    say('ready')
    await hear()
    for (let i = 0; i < (data.count as number); ) {
      u32[0] = tag
      u32[1] = i
      wr.wrId = tag * 1e6 + i
      try {
        qp.postSend(wr)
        i++
      } catch (error) {
        if (!(error instanceof VerbsError) || error.code !== 'ENOMEM') throw error
        nap()
      }
    }
    say('done')
    await hear()
    mr.close()
    qp.close()
    context.free(buffer)
    context.close()
  },

  /** Connects a QP and posts receives, until it is terminated. */
  async target() {
    const end = makeEnd(openDevice(data.device, data.options))
    const local = endpointOf(end.qp)
    say(local)
    connectQp(end.qp, local, await hear<QpEndpoint>(), timing)
    for (let i = 0; i < 16; i++) end.qp.postRecv({ wrId: i, sgList: [end.sge(64 * i)] })
    say('ready')
    await new Promise(() => setInterval(() => {}, 1000))
  },

  /** Polls an imported CQ until it is told to end; says what it has taken. */
  async poller() {
    const context = openDevice(data.device, data.options)
    const cq = context.importCq(data.cq as CqHandle)
    const stop = new Int32Array(data.stop as SharedArrayBuffer)
    const taken: number[] = []
    const wc = workCompletions(7)
    say('ready')
    while (Atomics.load(stop, 0) === 0) {
      const n = cq.poll(wc)
      for (let i = 0; i < n; i++) taken.push(wc[i]!.wrId)
    }
    say(taken)
    cq.close()
    context.close()
  },

  /** Posts to an imported QP as fast as it can until `stop`; says how many requests it has posted. */
  async flooder() {
    const context = openDevice(data.device, data.options)
    const qp = context.importQp(data.qp as QpHandle & { type: typeof QpType.RC })
    const stop = new Int32Array(data.stop as SharedArrayBuffer)
    const wr = sendWr<typeof QpType.RC>(data.wr as never)
    let posted = 0
    say('ready')
    while (Atomics.load(stop, 0) === 0) {
      wr.wrId = posted
      try {
        qp.postSend(wr)
        posted++
        Atomics.store(stop, 1, posted)
      } catch (error) {
        if (!(error instanceof VerbsError) || error.code !== 'ENOMEM') throw error
      }
    }
    say(posted)
    qp.close()
    context.close()
  },

  /** WRITEs changing bytes to one target after another until the connection fails, which it must. */
  async writer() {
    const context = openDevice(data.device, data.options)
    for (;;) {
      const end = makeEnd(context, { bytes: 1 << 20, slots: 8 })
      const local = endpointOf(end.qp)
      say(local)
      const target = await hear<Target | 'end'>()
      if (target === 'end') {
        end.close()
        break
      }
      connectQp(end.qp, local, target.endpoint, timing)
      const bytes = data.bytes as number
      const sgList = data.pieces === 2 ? [end.sge(0, bytes / 2), end.sge(bytes / 2, bytes / 2)] : [end.sge(0, bytes)]
      const wr = sendWr<typeof QpType.RC>({
        opcode: Opcode.Write,
        sendFlags: SendFlag.Signaled,
        remoteAddr: target.addr,
        rkey: target.rkey,
        sgList,
      })
      say('connected')
      for (let i = 0; end.qp.state === QpState.Rts; i++) {
        end.buffer[0] = i
        end.buffer[bytes - 1] = i
        try {
          end.qp.postSend(wr)
        } catch (error) {
          if (!(error instanceof VerbsError) || error.code !== 'ENOMEM') throw error
        }
        drain(end.cq)
      }
      end.close()
      say('failed')
    }
    context.close()
  },

  /** Sends `count` numbered messages over a connection of its own. */
  async sender() {
    const context = openDevice(data.device, data.options)
    const end = makeEnd(context)
    const local = endpointOf(end.qp)
    say(local)
    connectQp(end.qp, local, await hear<QpEndpoint>(), timing)
    const wr = sendWr<typeof QpType.RC>({
      opcode: Opcode.SendWithImm,
      immData: 0,
      sendFlags: SendFlag.Signaled,
      sgList: [end.sge(0, 8)],
    })
    say('connected')
    const failed: number[] = []
    const count = data.count as number
    let posted = 0
    for (let completed = 0; completed < count; ) {
      if (posted < count && posted - completed < 16) {
        wr.immData = posted++
        end.qp.postSend(wr)
      }
      for (const { status } of drain(end.cq)) {
        completed++
        if (status !== 0) failed.push(status)
      }
      if (failed.length > 0) break
    }
    say({ posted, failed })
    await hear()
    end.close()
    context.close()
  },

  /** Resizes an imported CQ again and again, and is slow wherever others could come between its steps. */
  async slowResizer() {
    const context = openDevice(data.device, data.options)
    const cq = context.importCq(data.cq as CqHandle)
    const { segment } = context.device.host
    const { bumpEpoch, quiesce } = segment
    const slow = (): void => void Atomics.wait(pause, 0, 0, 2)
    segment.bumpEpoch = () => {
      slow()
      bumpEpoch.call(segment)
    }
    segment.quiesce = () => {
      quiesce.call(segment)
      slow()
    }
    say('ready')
    for (let i = 0; i < 50; i++) cq.resize(i % 2 === 0 ? 500 : 200)
    say('done')
    await hear()
    cq.close()
    context.close()
  },

  /** WRITEs with a wrong key, and flushes the peer, which it has put into ERR so, only after a while. */
  async slowOffender() {
    const context = openDevice(data.device, data.options)
    const end = makeEnd(context)
    const local = endpointOf(end.qp)
    say(local)
    const { endpoint, addr } = await hear<Target>()
    connectQp(end.qp, local, endpoint, timing)
    const { host } = context.device
    const { flushBroken } = host
    host.flushBroken = (ref: number) => {
      Atomics.wait(pause, 0, 0, 300)
      flushBroken.call(host, ref)
    }
    end.qp.postSend({ opcode: Opcode.Write, remoteAddr: addr, rkey: 1, sgList: [end.sge()] })
    host.flushBroken = flushBroken
    say('flushed')
    await hear()
    end.close()
    context.close()
  },

  /** Sends to an SRQ without receives, destroys senders that wait there, makes others in their places. */
  async srqWaiters() {
    const context = openDevice('shm0')
    const pd = context.allocPd()
    const srq = pd.createSrq({ maxWr: 16 })
    const wait = () => {
      const [a, b] = [makeEnd(context), makeEnd(context, { srq })]
      connect(a, b, { minRnrTimer: 0 })
      a.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
      return [a, b] as const
    }
    const [gone, receiver] = wait()
    gone.close()
    const ends = [wait(), wait(), wait()]
    const buffer = context.alloc(4096)
    const mr = pd.regMr(buffer, 1)
    for (let i = 0; i < 3; i++) srq.postRecv({ sgList: [{ addr: mr.addr, length: 64, lkey: mr.lkey }] })
    // All were woken, although none of their timers can have run out.
    const done = ends.map(([a]) => drain(a.cq).length)
    if (done.join() !== '1,1,1') throw new Error(`completions after three receives: ${done}`)
    for (const [a, b] of ends) {
      a.close()
      b.close()
    }
    receiver.close()
    mr.close()
    srq.close()
    pd.close()
    context.free(buffer)
    context.close()
    say('done')
  },
}

await parts[data.part]!()
port.close()
