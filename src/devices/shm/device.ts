/**
 * Adapters in shared memory. Each segment has two, so that a program finds a pair to talk between: `shm0` and `shm1` in
 * the segment of this process, `shm:NAME` and `shm:NAME/1` in a named segment between processes.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { isMainThread, type Worker } from 'node:worker_threads'
import { Segment, SegmentError, segmentFilePrefix, startThread } from '../../memory/index.ts'
import {
  type AhAttr,
  type Device,
  type DeviceAttr,
  type DeviceDriver,
  type DeviceInfo,
  deviceAttr,
  type FastPath,
  type GidEntry,
  GidType,
  Host,
  LinkLayer,
  layout,
  type OpenOptions,
  type PortAttr,
  portAttr,
  processHost,
  reapDead,
  segmentOptions,
  VerbsError,
} from '../../verbs/index.ts'
import { warnOfWraps } from '../middleware/index.ts'
import type { EngineData, EngineOrder } from './engine-thread.ts'
import { Executor } from './executor.ts'
import { ShmFastPath } from './fast-path.ts'
import type { JanitorData } from './janitor.ts'

const { Ctx, Dev, Meta, Qp, Tables } = layout

export const adaptersPerSegment = 2
const activeMtu = 4096
/** A segment with its tables made ready; the same for all devices of the segment in this thread. */
interface Attached {
  host: Host
  executor: Executor
}

const attached = new Map<string, Attached>()

function attach(name: string | null, janitor = true): Attached {
  const known = attached.get(name ?? '')
  if (known) return known
  if (name !== null) sweep()
  const host = name === null ? processHost() : new Host(Segment.named(name, segmentOptions()))
  const { segment } = host
  host.control(() => initialise(host))
  for (const dead of segment.deadAttachments()) reapDead(host, dead)
  const made = { host, executor: new Executor(host, activeMtu, adaptersPerSegment) }
  attached.set(name ?? '', made)
  if (name !== null && janitor && (isMainThread || !segment.hasJanitor())) startJanitor(name)
  return made
}

process.on('exit', () => {
  for (const [name, { host }] of attached)
    if (name !== '') for (const own of host.segment.ownAttachments()) reapDead(host, own)
})

function initialise(host: Host): void {
  const { i32, at } = host
  if (i32[at.meta + Meta.initialised] === 1) return
  const guid = randomBytes(4).readInt32BE()
  for (let index = 0; index < adaptersPerSegment; index++) {
    const dev = host.deviceWord(index)
    i32[dev + Dev.guidHigh] = guidHigh
    i32[dev + Dev.guidLow] = (guid & ~1) | index
    i32[dev + Dev.lid] = index + 1
    i32[dev + Dev.state] = 1
  }
  i32[at.meta + Meta.initialised] = 1
}

/** Locally administered, so that it is nobody's; "VBN". */
const guidHigh = 0x0256424e

const janitors = new Map<string, Worker>()

/** Between processes somebody has to notice that one died, even while all others compute. */
function startJanitor(name: string): void {
  if (janitors.has(name)) return
  const data: JanitorData = { name }
  const worker = startThread(sibling('janitor'), { workerData: data, name: 'verbena janitor' })
  worker.unref()
  worker.on('error', (error) => {
    janitors.delete(name)
    const { message } = error as Error
    process.emitWarning(
      `nobody in this process notices any more when others of shm:${name} die: ${message}`,
      'VerbenaWarning',
    )
  })
  janitors.set(name, worker)
}

/** The module beside this one, as source or as built. */
function sibling(module: string): URL {
  return new URL(`./${module}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
}

/** For the threads of the device itself, which need no janitor of their own. */
export function attachSegment(name: string | null): Attached {
  return attach(name, false)
}

/** Engine threads that serve a context, by segment and context, and those of each segment that serve none. */
const engines = new Map<string, Worker>()
const idleEngines = new Map<string | null, Worker[]>()
const engineFailures = new WeakMap<Worker, unknown>()

function startEngine(segment: string | null): Worker {
  const data: EngineData = { segment }
  const worker = startThread(sibling('engine-thread'), { workerData: data, name: 'verbena engine' })
  worker.unref()
  worker.on('error', (error) => engineFailures.set(worker, error))
  return worker
}

export class ShmDevice implements Device {
  readonly name: string
  readonly host: Host
  readonly index: number
  readonly attr: DeviceAttr
  readonly port: PortAttr
  readonly gids: readonly GidEntry[]
  readonly pkeys: readonly number[] = [0xffff]
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
    return this.#i32[q + Qp.engine] === 0 ? new ShmFastPath(this.host, this.#executor, q) : null
  }

  doorbell(q: number): void {
    if (this.#i32[q + Qp.engine] === 0) this.#executor.run(q)
    else this.#ring(q)
  }

  /** Tells the engine thread of the QP's context; the ring holds each QP once. */
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

  settle(): void {
    this.#executor.settle()
  }

  retry(qpSlot: number): void {
    this.#executor.kick(qpSlot)
  }

  progress(): void {
    this.#executor.progress()
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
    const { segment } = this.host
    const c = this.host.ctxWord(context)
    const idle = idleEngines.get(segment.name) ?? []
    idleEngines.set(segment.name, idle)
    const worker = idle.pop() ?? startEngine(segment.name)
    engines.set(`${segment.name}/${context}`, worker)
    worker.postMessage({ context, cores: options.engineCores ?? [] } satisfies EngineOrder)
    for (let waited = 0; Atomics.load(this.#i32, c + Ctx.doorbellReady) === 0; waited++) {
      if (waited > 1000)
        throw new VerbsError(
          'ETIMEDOUT',
          'openDevice',
          `the engine thread did not start within 10 s${engineFailures.has(worker) ? `: ${engineFailures.get(worker)}` : ''}`,
        )
      segment.wait(c + Ctx.doorbellReady, 0, 10)
    }
  }

  close(context: number): void {
    const { segment } = this.host
    const key = `${segment.name}/${context}`
    const worker = engines.get(key)
    if (!engines.delete(key) || !worker) return
    const c = this.host.ctxWord(context)
    Atomics.store(this.#i32, c + Ctx.doorbellStop, 1)
    Atomics.add(this.#i32, c + Ctx.doorbellWake, 1)
    segment.notify(c + Ctx.doorbellWake)
    for (let waited = 0; Atomics.load(this.#i32, c + Ctx.doorbellReady) === 1; waited++) {
      if (waited > 200) return
      segment.wait(c + Ctx.doorbellReady, 1, 10)
    }
    idleEngines.get(segment.name)?.push(worker)
  }
}

function deviceGuid(host: Host, index: number): bigint {
  return guidIn(host.i32, host.at.meta, index)
}

/** The GUID of an adapter, from the words of a segment whose tables begin at `tables`. */
function guidIn(i32: Int32Array, tables: number, index: number): bigint {
  const dev = tables + Tables.devices + index * Dev.words
  return (BigInt(i32[dev + Dev.guidHigh]! >>> 0) << 32n) | BigInt(i32[dev + Dev.guidLow]! >>> 0)
}

function linkLocalGid(guid: bigint): Uint8Array {
  const gid = new Uint8Array(16)
  const view = new DataView(gid.buffer)
  view.setUint32(0, 0xfe800000)
  view.setBigUint64(8, guid)
  return gid
}

const devices = new Map<string, ShmDevice>()

/** Segment and adapter that a name means; null if it is not a name of this driver. */
function parse(name: string): { segment: string | null; index: number } | null {
  const own = /^shm([01])$/.exec(name)
  if (own) return { segment: null, index: Number(own[1]) }
  if (!name.startsWith('shm:')) return null
  const named = /^shm:([A-Za-z0-9._-]{1,64})(?:\/([01]))?$/.exec(name)
  if (!named)
    throw new VerbsError(
      'ENODEV',
      'openDevice',
      `'${name}' is not a segment's name: shm:NAME or shm:NAME/1, with up to 64 letters, digits, dots, dashes or underscores`,
    )
  return { segment: named[1]!, index: Number(named[2] ?? 0) }
}

function open(name: string): ShmDevice | null {
  const parsed = parse(name)
  if (!parsed) return null
  const canonical = parsed.segment === null ? name : `shm:${parsed.segment}/${parsed.index}`
  let device = devices.get(canonical)
  if (!device) {
    device = new ShmDevice(name, attach(parsed.segment), parsed.index)
    devices.set(canonical, device)
  }
  return device
}

function list(): DeviceInfo[] {
  const info = (name: string, host: Host, index: number): DeviceInfo => ({
    name,
    guid: deviceGuid(host, index),
    kind: 'shm',
  })
  const own = attach(null).host
  const found = [info('shm0', own, 0), info('shm1', own, 1)]
  sweep()
  for (const name of namedSegments()) {
    try {
      const guids = Segment.peek(name, (i32, tables) => [guidIn(i32, tables, 0), guidIn(i32, tables, 1)] as const)
      if (!guids) continue
      found.push(
        { name: `shm:${name}`, guid: guids[0], kind: 'shm' },
        { name: `shm:${name}/1`, guid: guids[1], kind: 'shm' },
      )
    } catch (error) {
      // A segment of another version, or without the rights to open it, is not a device of ours.
      if (!(error instanceof SegmentError) && !(error instanceof Error && 'errno' in error)) throw error
    }
  }
  return found
}

/** Takes away what processes that were killed left of named segments. */
function sweep(): void {
  for (const name of namedSegments()) {
    try {
      Segment.removeStale(name)
    } catch {
      // Another user's, or gone meanwhile: not ours to remove.
    }
  }
}

function namedSegments(): string[] {
  const directory = '/dev/shm'
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((file) => file.startsWith(segmentFilePrefix))
    .map((file) => file.slice(segmentFilePrefix.length))
}

export const shmDriver: DeviceDriver = { kind: 'shm', list, open }
