/**
 * What the service thread of a process does for the others of a shared device, beside driving it: it gives them descriptors of
 * the sockets, hears when one of them ends (its life pipe closes), and cleans up after it.
 */
import { randomBytes } from 'node:crypto'
import { DescriptorServer, LifePipes, Looks, nowNs } from '../../memory/index.ts'
import { reapDead } from '../../verbs/index.ts'
import { type Host, layout } from '../../verbs/provider/index.ts'
import type { RoceDevice } from './device.ts'
import { Holders, keyText } from './holders.ts'
import { maxSlots, Slot } from './socket-table.ts'

const { Meta } = layout

/** How often it looks for dead threads that it would not be told of, or at first if all processes can be heard: then more and more seldom. */
const lookMs = 20
const recheckMs = 1000
/** A process is heard to end a little before its threads are seen to be gone: so long it is looked for them, ... */
const settlesMs = 300
/** ... so often. */
const settleLookMs = 1
/** The thread that drives the device says when it looks next; so late another one takes over. */
const mostLateMs = 500
/** What nobody gives after so many attempts nobody has. */
const mostMisses = 50

export class Sharing {
  readonly device: RoceDevice
  readonly #host: Host
  readonly #holders: Holders
  /** Null where so many processes have the device that this one cannot give its descriptors to others. */
  readonly #server: DescriptorServer | null
  readonly #lives: LifePipes
  readonly #looks = new Looks(recheckMs)
  /** Whether no other process has the device. */
  alone = false
  /** When to look for the dead next, and until when a process is about to be seen dead; ns. */
  #nextLookNs = 0
  #settlesNs = 0
  /** The service thread that drives the device, as `drives` found it. */
  #owner = 0
  /** `RoceDev.changes` when sockets were last brought in line. */
  #seen = -1
  /** How often that was in vain. */
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

  /** Whether this thread is the one that drives the device while programs do not; it becomes that one if there is none. */
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

  /** Whether the one that drives it should have looked long ago: its process is stopped, or gets no processor. */
  #ownerRests(): boolean {
    const { f64, at } = this.#host
    return nowNs() > f64[(at.meta + Meta.serviceLooksAt) >> 1]! + mostLateMs * 1e6
  }

  /** Whether something has happened since `drives` and `look` for which others wake this thread: they may have done so before it waited. */
  get rung(): boolean {
    const { i32, segment, at } = this.#host
    const owner = Atomics.load(i32, at.meta + Meta.serviceOwner)
    if (this.#lives.outdated || (owner !== this.#owner && owner !== segment.lockValue)) return true
    return owner !== segment.lockValue && !segment.usesAttachment(owner)
  }

  /** Descriptors that tell of processes which ask or end. */
  descriptors(into: Int32Array, from: number): number {
    const lives = this.#lives.descriptors(into, from)
    if (this.#server === null) return lives
    into[from + lives] = this.#server.fd
    return lives + 1
  }

  /** When this wants to be looked at again, ns. */
  get nextLookNs(): number {
    return this.#nextLookNs
  }

  /** Answers those that ask, cleans up after those that have ended, and brings this process's descriptors in line. */
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

  /** The process does not use the device any more: another one's thread takes over. */
  leave(): void {
    const { i32, segment, at } = this.#host
    this.#holders.leave()
    this.#server?.close()
    this.#lives.close()
    Atomics.compareExchange(i32, at.meta + Meta.serviceOwner, segment.lockValue, 0)
    this.#holders.wake()
  }
}
