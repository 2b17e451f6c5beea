/**
 * State of a program in an opened device (`ibv_context`): its objects by handle, its completion channels, the pipes of its asynchronous
 * events, and the file with its queues. Handles belong to this file alone, so that no program can name objects of another program, and all
 * of them are closed with the file.
 */
import { randomInt } from 'node:crypto'
import type { Call } from '../door.ts'
import { asyncEvent } from './async-events.ts'
import { DeviceWatch } from './device-watch.ts'
import { type ErrnoName, fail } from './errors.ts'
import { EventPipe, inodeOfDescriptor } from './event-pipe.ts'
import { type Kind, kindNames, kindsByUse, type Objects } from './objects.ts'
import type { ProgramAh } from './plain-objects.ts'
import type { ProgramQp } from './program-qp.ts'
import type { ProgramSrq } from './program-srq.ts'
import { QueueFile } from './queue-file.ts'
import type { Station } from './station.ts'
import { eventName } from './value-names.ts'

type AnyObject = Objects[Kind]

/** Initial number of completion channels, or of files of asynchronous events, at which abandoned ones are closed. */
const firstSweepAt = 16

/** Pipes by inode. */
class Pipes extends Map<number, EventPipe> {
  #sweepAt = firstSweepAt

  /** Closes the pipes that no process reads any more and no object of the program uses; runs whenever their number has doubled. */
  sweep(): void {
    if (this.size < this.#sweepAt) return
    for (const [inode, pipe] of this) {
      if (pipe.users > 0 || !pipe.abandoned) continue
      pipe.close()
      this.delete(inode)
    }
    this.#sweepAt = Math.max(firstSweepAt, 2 * this.size)
  }
}

export class ProgramContext {
  readonly station: Station
  readonly file: QueueFile = new QueueFile()
  /** Observer of the device; null without one. */
  readonly watch: DeviceWatch | null
  /** True once `ibv_open_device` has got as far as its context. */
  opened = false
  /** Queue pairs and SRQs that doorbells are for. */
  readonly qps: ProgramQp[] = []
  readonly srqs: ProgramSrq[] = []
  /** Address handles by the number that work requests have; 0 is none. */
  readonly ahs: (ProgramAh | undefined)[] = [undefined]
  readonly #objects = new Map<number, AnyObject>()
  readonly #byKind: Readonly<Record<Kind, Map<AnyObject, number>>> = {
    pd: new Map(),
    mr: new Map(),
    mw: new Map(),
    ah: new Map(),
    cq: new Map(),
    qp: new Map(),
    srq: new Map(),
  }
  readonly #channels = new Pipes()
  readonly #asyncFiles = new Pipes()
  /** Last handle; random at first, so that handles do not show the number of objects. */
  #lastHandle = randomInt(1, 2 ** 30)

  /** `opener`: the process that has opened the device. */
  constructor(station: Station, opener: number) {
    this.station = station
    const first = this.#lastHandle
    const ordinal = (handle: number): number => (this.#objects.has(handle) ? (handle - first) & 0x7fffffff : handle)
    this.watch = station.watch && new DeviceWatch(station.watch, opener, ordinal)
  }

  // --- handles -------------------------------------------------------------------------------------------------------

  add(object: AnyObject): number {
    do this.#lastHandle = (this.#lastHandle + 1) & 0x7fffffff
    while (this.#objects.has(this.#lastHandle))
    this.#objects.set(this.#lastHandle, object)
    this.#byKind[object.kind].set(object, this.#lastHandle)
    if (object.kind === 'qp') this.qps.push(object)
    else if (object.kind === 'srq') this.srqs.push(object)
    return this.#lastHandle
  }

  /**
   * Returns the object of this kind with this handle; fails with `code` if there is none: EINVAL of commands, ENOENT of those that destroy.
   */
  find<K extends Kind>(kind: K, handle: number, verb: string, code: ErrnoName = 'EINVAL'): Objects[K] {
    const object = this.#objects.get(handle)
    if (object?.kind !== kind)
      fail(code, `${verb}: ${handle} is no handle of a ${kindNames[kind]} of this context: destroyed, or of another`)
    return object as Objects[K]
  }

  /** Removes an object that has been closed. */
  remove(object: AnyObject): void {
    const handle = this.#byKind[object.kind].get(object)
    this.#byKind[object.kind].delete(object)
    if (handle !== undefined) this.#objects.delete(handle)
    if (object.kind === 'qp') this.qps.splice(this.qps.indexOf(object), 1)
    else if (object.kind === 'srq') this.srqs.splice(this.srqs.indexOf(object), 1)
  }

  /** Returns the handle of an object; 0 for one that has none, or none yet. */
  handleOf(object: AnyObject): number {
    return this.#byKind[object.kind].get(object) ?? 0
  }

  /** Returns the object of this kind with this handle, for doorbells; undefined if there is none. */
  at<K extends Kind>(kind: K, handle: number): Objects[K] | undefined {
    const object = this.#objects.get(handle)
    return object?.kind === kind ? (object as Objects[K]) : undefined
  }

  addAh(make: (number: number) => ProgramAh): ProgramAh {
    let number = this.ahs.indexOf(undefined, 1)
    if (number < 0) number = this.ahs.length
    const ah = make(number)
    this.ahs[number] = ah
    return ah
  }

  // --- events --------------------------------------------------------------------------------------------------------

  /** Makes a completion channel; returns its number in the program. */
  addChannel(call: Call): number {
    this.#channels.sweep()
    const { pipe, descriptor } = EventPipe.give(call, 8, this.station.blockedPipes)
    this.#channels.set(pipe.inode, pipe)
    return descriptor
  }

  /** Makes a file for asynchronous events; returns its number in the program. */
  addAsyncFile(call: Call): number {
    this.#asyncFiles.sweep()
    const { pipe, descriptor } = EventPipe.give(call, 16, this.station.blockedPipes)
    this.#asyncFiles.set(pipe.inode, pipe)
    return descriptor
  }

  channel(call: Call, descriptor: number, verb: string): EventPipe {
    const inode = inodeOfDescriptor(call, descriptor, verb, 'the completion channel')
    return this.#channels.get(inode) ?? fail('EBADF', `${verb}: descriptor ${descriptor} is no completion channel`)
  }

  /** Returns the pipe of a descriptor, or without one that of the context. */
  asyncFile(call: Call, descriptor: number | undefined, verb: string): EventPipe | null {
    if (descriptor === undefined) return this.#asyncFiles.values().next().value ?? null
    const inode = inodeOfDescriptor(call, descriptor, verb, 'the file of asynchronous events')
    return (
      this.#asyncFiles.get(inode) ??
      fail('EBADF', `${verb}: descriptor ${descriptor} is no file of asynchronous events`)
    )
  }

  /** Reports an event of the port or the device. */
  raise(element: bigint, type: number): void {
    const event = asyncEvent(element, type)
    for (const pipe of this.#asyncFiles.values()) {
      const lost = pipe.push(event) ? {} : { lost: true as const }
      this.watch?.record({ type: 'event', event: eventName(type), element: `port ${element}`, ...lost })
    }
  }

  // --- the end -------------------------------------------------------------------------------------------------------

  /** Closes all remaining objects. */
  close(): void {
    const failures: unknown[] = []
    for (const kind of kindsByUse) {
      for (const object of this.#byKind[kind].keys()) {
        if (object.kind === 'cq') this.station.forgetCq(object)
        try {
          closeObject(object)
        } catch (error) {
          failures.push(error)
        }
        this.remove(object)
      }
    }
    for (const pipes of [this.#channels, this.#asyncFiles]) {
      for (const pipe of pipes.values()) pipe.close()
      pipes.clear()
    }
    this.file.close()
    if (failures.length > 0) throw failures[0]
  }
}

/** Closes what belongs to an object; its users have been closed before. */
export function closeObject(object: AnyObject): void {
  switch (object.kind) {
    case 'pd':
      object.pd.close()
      break
    case 'mr':
      object.mr.close()
      break
    case 'mw':
      object.mw.close()
      break
    case 'ah':
      object.ah.close()
      break
    case 'qp':
      object.leaveGroups()
      object.close()
      break
    default:
      object.close()
  }
}
