/**
 * Paths in one thread, with the nodes that they read and write: started, run in one loop, stopped in order.
 *
 * A source with `wait` is polled. While nothing comes, the loop sleeps in the `wait` of the source if there is one; of several sources, it
 * spins for a while, if that was worth it of late, and then sleeps in one after the other. A source without `wait` is read when it reports
 * samples. The event loop gets its turns if anything here needs them, else only when there are messages.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Command, Control } from './control.ts'
import type { Path } from './path.ts'
import type { Reader } from './reader.ts'
import type { Repeater } from './repeater.ts'
import type { Writer } from './writer.ts'

/** Longest sleep, in milliseconds, and so the interval at which commands are looked at. */
const longestWaitMs = 20
/** Longest sleep in one of several sources, and in one beside sources that the event loop serves, in milliseconds. */
const shortWaitMs = 0.2
/** Longest sleep in a single source, while nodes need the event loop, in milliseconds. */
const turnWaitMs = 1
/** Rounds with samples after which the event loop gets a turn, if it is needed. */
const roundsPerTurn = 64
const leastSpins = 16
const mostSpins = 4096

export interface GroupParts {
  readers: readonly Reader[]
  writers: readonly Writer[]
  paths: readonly Path[]
  repeaters: readonly Repeater[]
  /** True if there are nodes that do things in the event loop. */
  needsTurns: boolean
  periodic(): void
  /** Called once, when the sources that do not mirror have ended, or all paths have stopped. */
  ended(): void
}

export class Group {
  readonly #control: Int32Array
  readonly #parts: GroupParts
  readonly #needsTurns: boolean
  #polled: (Reader | Repeater)[] = []
  #evented: Reader[] = []
  #resume: (() => void) | null = null
  #woken = false
  #attention = 0
  #tick = 0
  #rounds = 0
  #idleRounds = 0
  #spins = leastSpins
  #turnOf = 0
  #saidEnd = false

  constructor(control: Int32Array, parts: GroupParts) {
    this.#control = control
    this.#parts = parts
    this.#needsTurns = parts.needsTurns || parts.readers.some(({ evented }) => evented)
  }

  /** Wakes the loop: there is something that it should look at, a message or a source that is readable. */
  wake(): void {
    this.#woken = true
    const resume = this.#resume
    this.#resume = null
    resume?.()
  }

  /** Decides anew which sources are read: paths have stopped, or sources ended. */
  choose(): void {
    const { readers, repeaters, paths } = this.#parts
    const live = readers.filter((reader) => !reader.idle && !reader.ended)
    this.#evented = live.filter(({ evented }) => evented)
    this.#polled = [...live.filter(({ evented }) => !evented), ...repeaters.filter(({ path }) => !path.stopped)]
    const over = live.every(({ mirrors }) => mirrors) || paths.every(({ stopped }) => stopped)
    if (!over || this.#saidEnd) return
    this.#saidEnd = true
    this.#parts.ended()
  }

  /** Runs until the main thread commands something else. */
  async run(): Promise<void> {
    const control = this.#control
    this.choose()
    for (;;) {
      if (Atomics.load(control, Control.command) !== Command.run) return
      if (Atomics.load(control, Control.attention) !== this.#attention) {
        this.#attention = Atomics.load(control, Control.attention)
        await nextTurn()
      }
      if (Atomics.load(control, Control.tick) !== this.#tick) {
        this.#tick = Atomics.load(control, Control.tick)
        this.#parts.periodic()
      }
      if (this.round() > 0) {
        if (this.#idleRounds < this.#spins) this.#spins = Math.min(mostSpins, 2 * this.#spins)
        this.#idleRounds = 0
        if (this.#needsTurns && ++this.#rounds >= roundsPerTurn) {
          this.#rounds = 0
          await nextTurn()
        }
      } else if (this.#polled.length === 0) await this.event()
      else if (this.#needsTurns) {
        await nextTurn()
        this.#waitForOne(this.#evented.length > 0 || this.#polled.length > 1 ? shortWaitMs : turnWaitMs)
      } else this.#rest()
    }
  }

  /** Reads everything once; returns the number of samples. */
  round(): number {
    const { writers } = this.#parts
    const polled = this.#polled
    const evented = this.#evented
    let samples = 0
    let changed = false
    for (let i = 0; i < polled.length; i++) {
      const one = polled[i]!
      const count = one.poll()
      samples += count
      if (count === 0 && one.ended) changed = true
    }
    for (let i = 0; i < evented.length; i++) {
      const reader = evented[i]!
      if (!reader.ready) continue
      reader.ready = false
      const count = reader.poll()
      if (count > 0) reader.ready = true
      else if (reader.ended) changed = true
      samples += count
    }
    if (samples > 0) for (let i = 0; i < writers.length; i++) writers[i]!.write()
    else for (let i = 0; i < writers.length; i++) writers[i]!.idle()
    if (changed) this.choose()
    return samples
  }

  /** Reads and writes everything that is left; `mirrored`: also what is left in sources that mirror. */
  drain(mirrored: boolean): void {
    const { readers, writers, paths } = this.#parts
    if (mirrored) for (const reader of readers) if (reader.mirrors) while (reader.poll() > 0);
    for (const reader of readers) reader.drain()
    for (const path of paths) path.drain()
    for (const writer of writers) {
      writer.drain()
      writer.idle()
    }
  }

  /** Waits until something happens in the event loop. */
  async event(): Promise<void> {
    if (this.#woken) {
      this.#woken = false
      await nextTurn()
      return
    }
    await new Promise<void>((resolve) => {
      this.#resume = resolve
    })
    this.#woken = false
  }

  /** Waits: nothing has come, and nothing here needs the event loop. */
  #rest(): void {
    if (this.#polled.length === 1) {
      this.#waitForOne(longestWaitMs)
      return
    }
    if (++this.#idleRounds < this.#spins) return
    if (this.#idleRounds === this.#spins) this.#spins = Math.max(leastSpins, this.#spins >> 1)
    this.#waitForOne(shortWaitMs)
  }

  #waitForOne(ms: number): void {
    const polled = this.#polled
    this.#turnOf = (this.#turnOf + 1) % polled.length
    polled[this.#turnOf]!.wait(ms)
  }
}
