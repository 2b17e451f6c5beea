/**
 * The users of a device, and thereby its sockets. One rule, under the control lock of its segment: a context counts as a user from the
 * moment its process has the device's sockets until it closes, or its thread ends. The first user opens them and the last one closes
 * them; a process gets them from another one that has them, and closes its descriptors with its own last user. A thread that fails or
 * dies while it joins has never been a user, so the next one starts over.
 */
import {
  fetchDescriptors,
  NativeError,
  nativeAvailable,
  nowNs,
  type Passed,
  processStopped,
  sleepUntilNs,
} from '../../memory/index.ts'
import { processHost } from '../../verbs/index.ts'
import { type Host, layout, type OpenOptions, VerbsError, type Wrap } from '../../verbs/provider/index.ts'
import type { HostAddress } from './addresses.ts'
import { Holders, keyText } from './holders.ts'
import { RoceDev } from './layout.ts'
import { putWraps, wrapsWanted } from './middleware-relay.ts'
import { OpenSockets, openError, type SocketOwner } from './open-sockets.ts'
import { Slot, type SocketTable } from './socket-table.ts'

const { Ctx, drivenBy, Meta } = layout

/**
 * Number of pauses in which a thread of this or another process may close descriptors that it had, or was just given, before the port
 * counts as in use. It is not a time: on a busy machine that thread gets as little of the processor as this one.
 */
const mostPauses = 125
const pauseMs = 2
/** Time that one of the processes with the device open has to give this one its sockets, and that all have: less if one is stopped. */
const answerMs = 1000
const givingMs = 30_000
const stoppedMs = 5000
/** Interval of looks whether one is stopped. */
const lookMs = 1000

/** Returns the setting of `VERBENA_CONGESTION_CONTROL`, undefined if there is none. */
function congestionOfEnvironment(): boolean | undefined {
  const { VERBENA_CONGESTION_CONTROL: value = '' } = process.env
  if (value === '') return undefined
  if (value === '0') return false
  if (value === '1') return true
  throw new VerbsError('EINVAL', 'openDevice', `VERBENA_CONGESTION_CONTROL is 0 or 1, not ${JSON.stringify(value)}`)
}

function driverOf(wraps: readonly Wrap[], { drives = false }: OpenOptions): number {
  if (!nativeAvailable) return drivenBy.service
  if (wraps.length === 0) return drivenBy.all
  return drives ? drivenBy.opener : drivenBy.service
}

export class DeviceUsers {
  readonly #host: Host
  readonly #index: number
  readonly #dev: number
  readonly #name: string
  readonly #table: SocketTable
  readonly #owner: SocketOwner
  readonly #sockets: OpenSockets
  /** Processes that have its sockets, if processes share the device. */
  readonly #holders: Holders | null

  constructor(host: Host, index: number, table: SocketTable, owner: SocketOwner) {
    this.#host = host
    this.#index = index
    this.#dev = host.deviceWord(index)
    this.#name = owner.name
    this.#table = table
    this.#owner = owner
    this.#holders = host === processHost() ? null : new Holders(host, index)
    this.#sockets = new OpenSockets(host, table, owner)
  }

  /** True if other processes may use the device, too. */
  get shared(): boolean {
    return this.#holders !== null
  }

  // --- coming and going --------------------------------------------------------------------------------------------

  /** Makes a context a user. Throws VerbsError: EADDRINUSE, EBUSY, ETIMEDOUT and other errors of opening sockets. */
  join(context: number, options: OpenOptions): void {
    const wraps = wrapsWanted(options)
    const congestion = options.congestionControl ?? congestionOfEnvironment()
    const began = nowNs()
    let nextLookMs = stoppedMs
    for (let pauses = 0; ; ) {
      const lacks = this.#join(context, wraps, congestion, options)
      if (lacks === null) break
      if (lacks !== 'descriptors') {
        if (!this.shared || ++pauses > mostPauses) throw this.#sockets.portInUse(lacks)
        sleepUntilNs(nowNs() + pauseMs * 1e6)
        continue
      }
      const waitedMs = (nowNs() - began) / 1e6
      const looks = waitedMs > nextLookMs
      if (looks) nextLookMs = waitedMs + lookMs
      if (waitedMs > givingMs || (looks && this.#someStopped()))
        throw openError(
          this.#name,
          'openDevice',
          'ETIMEDOUT',
          'a process that has it open does not give this one its sockets: it is stopped, or very busy',
        )
      if (!this.#fetch(answerMs)) sleepUntilNs(nowNs() + pauseMs * 1e6)
    }
    this.#changed()
  }

  /**
   * Begins to use the device, if this process has its sockets or the device has no users: null. Otherwise returns what this process
   * lacks: descriptors of its sockets, or the port of an address, which is in use.
   */
  #join(
    context: number,
    wraps: readonly Wrap[],
    congestion: boolean | undefined,
    options: OpenOptions,
  ): null | 'descriptors' | HostAddress {
    const host = this.#host
    const { i32 } = host
    return host.control(() => {
      if (this.#countUsers() === 0) {
        // A thread that ended without closing has left them.
        this.#sockets.closeAll()
        putWraps(host, this.#dev, wraps)
        i32[this.#dev + RoceDev.congestion] = congestion ? 1 : 0
        i32[this.#dev + RoceDev.alone] = driverOf(wraps, options)
        this.#owner.begin()
        const taken = this.#sockets.openAll()
        if (taken !== null) return taken
      } else {
        this.#checkOpen(options.wrap !== undefined, congestion)
        if (this.#table.missing().length > 0) return 'descriptors'
      }
      i32[host.ctxWord(context) + Ctx.uses] = 1
      this.#countUsers()
      return null
    })
  }

  /** True if a process with the segment of the device is stopped. */
  #someStopped(): boolean {
    for (const pid of this.#host.segment.attachedPids()) if (processStopped(pid)) return true
    return false
  }

  /** Throws if the options differ from what the first user has decided; undefined options do not count. */
  #checkOpen(wrapped: boolean, congestion: boolean | undefined): void {
    if (wrapped)
      throw new VerbsError('EBUSY', 'openDevice', `${this.#name} is open already: the first to open it can wrap it`)
    if (congestion !== undefined && congestion !== (this.#host.i32[this.#dev + RoceDev.congestion] === 1))
      throw new VerbsError(
        'EBUSY',
        'openDevice',
        `${this.#name} is open already ${congestion ? 'without' : 'with'} congestion control: the first to open it decides`,
      )
  }

  /** Closes the sockets if the device, or this process, has no users any more: the last user has closed it, or its thread has ended. */
  closeUnused(): void {
    const host = this.#host
    host.control(() => {
      host.segment.releaseDead(this.#dev + RoceDev.sleeper)
      host.segment.releaseDead(this.#dev + RoceDev.looper)
      host.segment.releaseDead(this.#dev + RoceDev.deputy)
      if (this.#countUsers() === 0) this.#sockets.closeAll()
      else if (this.shared && this.#ownUsers === 0) this.#sockets.closeOwn(true)
    })
    this.#changed()
  }

  /** Counts all users, those of this process, and those that leave the work to a thread; returns the number of users. */
  #countUsers(): number {
    const host = this.#host
    const { i32 } = host
    let users = 0
    let own = 0
    let threads = 0
    for (let context = 0; context < i32[host.at.meta + Meta.contextsUsed]!; context++) {
      const c = host.ctxWord(context)
      if (i32[c + Ctx.state] === 0 || i32[c + Ctx.device] !== this.#index || i32[c + Ctx.uses] === 0) continue
      const owner = i32[c + Ctx.owner]!
      if (!host.segment.attachmentAlive(owner)) continue
      users++
      if (host.segment.isOwn(owner)) own++
      threads += i32[c + Ctx.engine]!
    }
    const { ownI32, ownDev } = this.#table
    Atomics.store(i32, this.#dev + RoceDev.threads, threads)
    // The record in the segment of the process is about the one that it uses: the shared one, or its own.
    if (!this.shared) {
      if (ownI32[ownDev + RoceDev.shared] !== 1) ownI32[ownDev + RoceDev.users] = users
    } else {
      i32[this.#dev + RoceDev.users] = users
      if (own > 0 || ownI32[ownDev + RoceDev.shared] === 1) {
        ownI32[ownDev + RoceDev.users] = own
        ownI32[ownDev + RoceDev.shared] = own > 0 ? 1 : 0
      }
    }
    return users
  }

  /** Number of users of this process at the last count. */
  get #ownUsers(): number {
    const { ownI32, ownDev } = this.#table
    return ownI32[ownDev + RoceDev.shared] === 1 ? ownI32[ownDev + RoceDev.users]! : 0
  }

  // --- what processes share ----------------------------------------------------------------------------------------

  /** Wakes the service threads of all processes that use the device. */
  wakeOthers(): void {
    this.#holders?.wake()
  }

  /** Number that changes when a process begins or ends to use the device, or its sockets change. */
  get changes(): number {
    return Atomics.load(this.#host.i32, this.#dev + RoceDev.changes)
  }

  #changed(): void {
    if (this.#holders === null) return
    Atomics.add(this.#host.i32, this.#dev + RoceDev.changes, 1)
    this.#holders.wake()
  }

  /** Takes descriptors of the sockets from another process; false if none gives any within the time. */
  #fetch(timeoutMs: number): boolean {
    const take = (given: readonly Passed[]): void => {
      this.#host.control(() => this.#sockets.adopt(given))
    }
    // Another user's process that has the segment may be trusted with the sockets: it was let in.
    const isAttached = (pid: number): boolean => this.#host.segment.attachedPids().has(pid)
    for (const key of this.#holders?.others() ?? []) {
      try {
        if (fetchDescriptors(keyText(key), timeoutMs, take, isAttached).length > 0) return true
      } catch (error) {
        // It has ended, or is about to; or this process has no room for more.
        if (!(error instanceof NativeError) || error.code === 'EMFILE') throw error
      }
    }
    return false
  }

  /**
   * Closes descriptors that this process no longer needs, and gets those that it lacks, for the service thread; false if it has to be
   * tried again. The other process's thread may be requesting descriptors of this one at the same time: neither waits for long, nor for
   * the same time.
   */
  bringInLine(): boolean {
    const missing = (): boolean =>
      this.#host.control(() => {
        this.#countUsers()
        this.#sockets.closeOwn(this.#ownUsers === 0)
        return this.#ownUsers > 0 && this.#table.missing().length > 0
      })
    if (!missing()) return true
    try {
      return this.#fetch(2 + Math.random() * 20) && !missing()
    } catch {
      // Too many open files, perhaps not for long.
      return false
    }
  }

  /** Opens the sockets again that went with the process that had opened them, before other processes had them. */
  reopenMissing(): void {
    if (this.#host.control(() => this.#sockets.reopenMissing())) this.#changed()
  }

  // --- the host's network ------------------------------------------------------------------------------------------

  /**
   * Runs `follow` under the control lock while the device has users. It calls its argument for each address that the host has: that opens
   * the socket if there is none, and returns false if it cannot be opened. False, at once, if another thread has that lock: it may wait
   * for this one, which opens its sockets.
   */
  followHost(follow: (open: (local: number) => boolean) => void): boolean {
    let opened = false
    const open = (local: number): boolean => {
      if (this.#table.slotOfAddress(local) >= 0) return true
      const isOpen = this.#sockets.openAnother(local)
      opened ||= isOpen
      return isOpen
    }
    const done = this.#host.tryControl(() => {
      if (this.#countUsers() > 0) follow(open)
    })
    if (opened) this.#changed()
    return done
  }

  // --- multicast ---------------------------------------------------------------------------------------------------

  joinGroup(gid: Uint8Array, sgidIndex: number): void {
    const host = this.#host
    const table = this.#table
    const { i32 } = host
    host.control(() => {
      const slot = table.slotOfGroup(gid)
      if (slot < 0) this.#sockets.openGroup(gid, sgidIndex)
      else i32[table.word(slot) + Slot.refs] = i32[table.word(slot) + Slot.refs]! + 1
    })
    this.#changed()
  }

  leaveGroup(gid: Uint8Array): void {
    const host = this.#host
    const table = this.#table
    const { i32 } = host
    host.control(() => {
      const slot = table.slotOfGroup(gid)
      if (slot < 0) return
      const refs = table.word(slot) + Slot.refs
      i32[refs] = i32[refs]! - 1
      if (i32[refs] === 0) this.#sockets.closeSlot(slot)
    })
    this.#changed()
  }
}
