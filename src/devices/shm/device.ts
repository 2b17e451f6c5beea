/** An adapter in shared memory. */

import { nativeAvailable, nativeReason } from '../../memory/index.ts'
import {
  type AhAttr,
  type Device,
  type DeviceAttr,
  defaultPkey,
  deviceAttr,
  type FastPath,
  type GidEntry,
  GidType,
  type Host,
  LinkLayer,
  layout,
  type OpenOptions,
  type PortAttr,
  portAttr,
  VerbsError,
} from '../../verbs/provider/index.ts'
import { warnOfWraps } from '../middleware/index.ts'
import { releaseContext, serveContext } from './engines.ts'
import type { Executor } from './executor.ts'
import { ShmFastPath } from './fast-path.ts'
import { watchByThread } from './janitors.ts'
import { type Attached, activeMtu, adaptersPerSegment, deviceGuid } from './segments.ts'

const { Ctx, Dev, Qp, qpEngine } = layout

export class ShmDevice implements Device {
  readonly name: string
  readonly host: Host
  readonly index: number
  readonly attr: DeviceAttr
  readonly port: PortAttr
  readonly gids: readonly GidEntry[]
  readonly pkeys: readonly number[] = [defaultPkey]
  readonly qpWords = 0
  readonly driven = false
  readonly #executor: Executor
  readonly #i32: Int32Array

  constructor(name: string, { host, executor }: Attached, index: number) {
    this.name = name
    this.host = host
    this.index = index
    this.#executor = executor
    this.#i32 = host.i32
    const dev = host.deviceWord(index)
    const guid = deviceGuid(host, index)
    this.attr = deviceAttr(host, guid, { vendorPartId: 1, localCaAckDelay: 0, maxRdAtomic: 128 })
    const lid = host.i32[dev + Dev.lid]!
    this.port = portAttr({ activeMtu, gidTblLen: 1, lid, smLid: 1, linkLayer: LinkLayer.InfiniBand })
    this.gids = [{ gid: linkLocalGid(guid), gidIndex: 0, portNum: 1, gidType: GidType.Ib, ndevIfindex: 0 }]
  }

  route(attr: AhAttr): number {
    const { grh } = attr
    if (grh && grh.dgid[0] !== 0xff) {
      for (let index = 0; index < adaptersPerSegment; index++) {
        const gid = linkLocalGid(deviceGuid(this.host, index))
        if (gid.every((byte, i) => byte === grh.dgid[i])) return index
      }
      return -1
    }
    const lid = attr.dlid ?? 0
    return lid >= 1 && lid <= adaptersPerSegment ? lid - 1 : -1
  }

  fastPath(q: number): FastPath | null {
    return this.#i32[q + Qp.engine] === qpEngine.poster ? new ShmFastPath(this.host, this.#executor, q) : null
  }

  doorbell(q: number): void {
    if (this.#i32[q + Qp.engine] !== qpEngine.thread) this.#executor.run(q)
    else this.#ring(q)
  }

  /** Rings the doorbell of the engine thread of the QP's context; the ring holds each QP once. */
  #ring(q: number): void {
    const i32 = this.#i32
    const { segment } = this.host
    if (Atomics.exchange(i32, q + Qp.rung, 1) === 1) return
    const c = this.host.ctxWord(i32[q + Qp.context]!)
    segment.lock(c + Ctx.doorbellLock)
    const tail = i32[c + Ctx.doorbellTail]!
    if (((tail - Atomics.load(i32, c + Ctx.doorbellHead)) | 0) < Ctx.doorbellSlots) {
      i32[c + Ctx.doorbells + (tail & (Ctx.doorbellSlots - 1))] = this.host.qpSlot(q)
      Atomics.store(i32, c + Ctx.doorbellTail, (tail + 1) | 0)
    } else Atomics.store(i32, c + Ctx.doorbellMissed, 1)
    segment.unlock(c + Ctx.doorbellLock)
    if (Atomics.load(i32, c + Ctx.doorbellSleeping) === 1) {
      Atomics.add(i32, c + Ctx.doorbellWake, 1)
      segment.notify(c + Ctx.doorbellWake)
    }
  }

  reachProcess(verb: string, pid: number, address: number, length: number): number {
    if (!nativeAvailable)
      throw new VerbsError('EOPNOTSUPP', verb, `memory of other processes needs native functions: ${nativeReason}`)
    return this.#executor.reachProcess(verb, pid, address, length)
  }

  settle(): void {
    this.#executor.settle()
  }

  resume(qpSlot: number): void {
    this.#executor.resume(qpSlot)
  }

  progress(): void {
    this.#executor.progress()
  }

  dueInMs(): number {
    return this.#executor.dueInMs()
  }

  leavesLoop(): void {
    const { name } = this.host.segment
    if (name !== null) watchByThread(name)
  }

  joinGroup(): void {}
  leaveGroup(): void {}
  rest(): void {}

  sleep(): boolean {
    return false
  }

  open(context: number, options: OpenOptions): void {
    if (options.wrap !== undefined && options.wrap.length > 0)
      throw new VerbsError(
        'EOPNOTSUPP',
        'openDevice',
        `${this.name} has no link that could be wrapped: a device on a network has, for example roce:127.0.0.1`,
      )
    warnOfWraps(this.name)
    if (options.engine !== 'thread') return
    serveContext(this.host, context, options.engineCores ?? [])
  }

  close(context: number): void {
    releaseContext(this.host, context)
  }
}

function linkLocalGid(guid: bigint): Uint8Array {
  const gid = new Uint8Array(16)
  const view = new DataView(gid.buffer)
  view.setUint32(0, 0xfe800000)
  view.setBigUint64(8, guid)
  return gid
}
