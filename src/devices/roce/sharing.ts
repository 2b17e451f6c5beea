/**
 * Work of the service thread of a process for the other processes of a shared device, besides driving it: it gives them descriptors of
 * the sockets, detects the end of a process (its life pipe closes), and cleans up after it.
 */
import { randomBytes } from 'node:crypto'
import { DescriptorServer, LifePipes, Looks, nowNs } from '../../memory/index.ts'
import { reapDead } from '../../verbs/index.ts'
import { type Host, layout } from '../../verbs/provider/index.ts'
import type { RoceDevice } from './device.ts'
import { Holders, keyText } from './holders.ts'
import { maxSlots, Slot } from './socket-table.ts'

const { Meta } = layout

/**
 * Interval of looks for dead threads whose end is not signalled; if the ends of all are signalled, `recheckMs` at first, and then less
 * and less often.
 */
const lookMs = 20
const recheckMs = 1000
/** Time during which the dead threads of an ended process are looked for: its end is signalled a little before they are seen to be gone. */
const settlesMs = 300
/** Interval of these looks. */
const settleLookMs = 1
/** Maximum delay of the thread that drives the device after the time at which it announced to look; then another one takes over. */
const mostLateMs = 500
/** Number of attempts to get a missing socket after which no process is assumed to have it. */
const mostMisses = 50

export class Sharing {
  readonly device: RoceDevice
  readonly #host: Host
  readonly #holders: Holders
  /** Server of descriptors; null if so many processes have the device that this one cannot give its descriptors to other processes. */
  readonly #server: DescriptorServer | null
  readonly #lives: LifePipes
  readonly #looks = new Looks(recheckMs)
  /** True if no other process has the device. */
  alone = false
  /** Time of the next look for dead threads, and the end of the time in which threads of an ended process are looked for; ns. */
  #nextLookNs = 0
  #settlesNs = 0
  /** Service thread that drives the device, as `drives` found it. */
  #owner = 0
  /** Value of `RoceDev.changes` when sockets were last updated. */
  #seen = -1
  /** Number of updates in a row that failed. */
  #misses = 0

  constructor(device: RoceDevice) {
    const { host, index } = device
    this.device = device
    this.#host = host
    this.#lives = new LifePipes(host.segment)
    const key = randomBytes(16)
    const isAttached = (pid: number): boolean => host.segment.attachedPids().has(pid)
    const server = new DescriptorServer(keyText(key), () => this.#offer(), isAttached)
    this.#holders = new Holders(host, index)
    const isEntered = this.#holders.enter(key)
    if (!isEntered) server.close()
    this.#server = isEntered ? server : null
  }

  #offer(): { fd: number; tag: number }[] {
    const { table } = this.device
    const offered: { fd: number; tag: number }[] = []
    for (let slot = 0; slot < maxSlots; slot++) {
      const fd = table.fd(slot)
      if (fd >= 0) offered.push({ fd, tag: table.i32[table.word(slot) + Slot.serial]! })
    }
    return offered
  }

  /** True if this thread is the one that drives the device while programs do not; it becomes that one if there is none. */
  get drives(): boolean {
    const { i32, segment, at } = this.#host
    const owner = at.meta + Meta.serviceOwner
    const now = Atomics.load(i32, owner)
    this.#owner = now
    if (now === segment.lockValue) return true
    if (now !== 0 && segment.usesAttachment(now) && !this.#ownerRests()) return false
    if (Atomics.compareExchange(i32, owner, now, segment.lockValue) !== now) return false
    this.#host.f64[(at.meta + Meta.serviceLooksAt) >> 1] = nowNs()
    segment.notify(owner)
    return true
  }

  /** True if the thread that drives the device should have looked long ago: its process is stopped, or gets no processor. */
  #ownerRests(): boolean {
    const { f64, at } = this.#host
    return nowNs() > f64[(at.meta + Meta.serviceLooksAt) >> 1]! + mostLateMs * 1e6
  }

  /**
   * True if something has happened since `drives` and `look` for which other threads wake this one: they may have done so before it
   * waited.
   */
  get rung(): boolean {
    const { i32, segment, at } = this.#host
    const owner = Atomics.load(i32, at.meta + Meta.serviceOwner)
    if (this.#lives.outdated || (owner !== this.#owner && owner !== segment.lockValue)) return true
    return owner !== segment.lockValue && !segment.usesAttachment(owner)
  }

  /** Writes the descriptors that signal requests and ends of processes; returns their number. */
  descriptors(into: Int32Array, from: number): number {
    const lives = this.#lives.descriptors(into, from)
    if (this.#server === null) return lives
    into[from + lives] = this.#server.fd
    return lives + 1
  }

  /** Time of the next look, ns. */
  get nextLookNs(): number {
    return this.#nextLookNs
  }

  /** Answers requests, cleans up after processes that have ended, and updates this process's descriptors. */
  look(): void {
    this.#server?.serve()
    const now = nowNs()
    if (this.#lives.ended()) this.#settlesNs = now + settlesMs * 1e6
    if (this.#lives.outdated || now < this.#settlesNs) this.#looks.startAgain()
    if (now >= this.#nextLookNs || now < this.#settlesNs || this.#lives.outdated) {
      const all = this.#lives.follow()
      if (reapDead(this.#host) > 0) this.#holders.wake()
      const { segment } = this.#host
      this.alone = all && segment.attachedPids().size === 1
      // Besides the thread that has opened the device, which ends with the process, and this one.
      const hasWorkers = segment.ownThreads > 2
      const told = (): number => this.#looks.next(this.alone && !hasWorkers && segment.parking.mayRestBlocked)
      const pause = now < this.#settlesNs ? settleLookMs : all ? told() : lookMs
      this.#nextLookNs = now + pause * 1e6
    }
    const { changes } = this.device.users
    if (changes === this.#seen) return
    if (this.device.users.bringInLine()) {
      this.#seen = changes
      this.#misses = 0
    } else {
      this.#nextLookNs = now + settleLookMs * 1e6
      if (++this.#misses % mostMisses === 0) this.device.users.reopenMissing()
    }
  }

  /** Ends the use of the device by this process: the thread of another process takes over. */
  leave(): void {
    const { i32, segment, at } = this.#host
    this.#holders.leave()
    this.#server?.close()
    this.#lives.close()
    Atomics.compareExchange(i32, at.meta + Meta.serviceOwner, segment.lockValue, 0)
    this.#holders.wake()
  }
}
