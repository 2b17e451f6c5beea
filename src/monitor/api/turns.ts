/**
 * Scheduler of the tasks of pages. Packets are captured in the same thread, so the requests of pages are executed one task per turn of the
 * event loop, a task of each page in turn, in a limited fraction of the time: a fifth, of which 20 ms can be saved up.
 *
 *     task (4 ms)  → 16 ms for the capture → task (1 ms) → 4 ms …
 */
const partOfTime = 5
const mostSavedMs = 100

export class Turns<Who> {
  readonly #waiting = new Map<Who, (() => void)[]>()
  readonly #nowMs: () => number
  /** Time when the time that was used is paid for. */
  #paidMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  /** @param nowMs time of a monotonic clock, in milliseconds */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Schedules a task of an owner, after the owner's earlier tasks. A task throws nothing. */
  add(who: Who, task: () => void): void {
    const tasks = this.#waiting.get(who)
    if (tasks === undefined) this.#waiting.set(who, [task])
    else tasks.push(task)
    this.#plan()
  }

  /** Discards the tasks of an owner. */
  drop(who: Who): void {
    this.#waiting.delete(who)
  }

  /** Discards all tasks. */
  end(): void {
    this.#waiting.clear()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #plan(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return
    this.#timer = setTimeout(() => this.#turn(), Math.max(0, this.#paidMs - this.#nowMs()))
  }

  #turn(): void {
    this.#timer = undefined
    const [next] = this.#waiting
    if (next === undefined) return
    const [who, [task, ...others]] = next
    this.#waiting.delete(who)
    if (others.length > 0) this.#waiting.set(who, others)
    const startMs = this.#nowMs()
    task!()
    const tookMs = this.#nowMs() - startMs
    this.#paidMs = Math.max(this.#paidMs, startMs - mostSavedMs) + partOfTime * tookMs
    this.#plan()
  }
}
