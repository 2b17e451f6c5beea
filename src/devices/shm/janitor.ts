/**
 * Notices when another process of a named segment dies: its queue pairs disappear, so that requests to them end with
 * RETRY_EXC_ERR, and its memory and keys are given back.
 */
import { inRootContext, type JanitorKind, Lives, Looks } from '../../memory/index.ts'
import { reapDead } from '../../verbs/index.ts'
import type { Host } from '../../verbs/provider/index.ts'

/** Interval of looks for dead processes while there is a process whose end would not be signalled. */
const lookMs = 20
/** First interval while all ends would be signalled: a signal may be lost, and the end of a thread of its own process is not signalled. */
const recheckMs = 1000

// Tests of programs replace these functions for a while.
const { setTimeout, clearTimeout } = globalThis

export class Janitor {
  readonly #host: Host
  readonly #kind: JanitorKind
  readonly #lives: Lives
  readonly #looks = new Looks(recheckMs)
  #begun = 0
  #warned = false
  #timer: NodeJS.Timeout | undefined

  /** Makes this thread a janitor in its event loop. The janitor keeps the thread alive only if that does nothing else. */
  constructor(host: Host, kind: JanitorKind) {
    this.#host = host
    this.#kind = kind
    this.#lives = new Lives(host.segment, kind, () => this.#lookNow(), this.#rung)
    this.#look()
  }

  readonly #rung = (): void => {
    const { begun } = this.#lives
    if (begun === this.#begun) return
    this.#begun = begun
    this.#lookNow()
  }

  #lookNow(): void {
    this.#looks.startAgain()
    this.#lookIn(0)
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = inRootContext(() => setTimeout(this.#look, ms))
    if (this.#kind === 'loop') this.#timer.unref()
  }

  readonly #look = (): void => {
    this.#begun = this.#lives.begun
    let tellsAll = false
    try {
      tellsAll = this.#lives.watch()
      reapDead(this.#host)
    } catch (error) {
      this.#warn(error as Error)
    }
    const { segment } = this.#host
    const isAlone = segment.ownThreads <= (this.#kind === 'loop' ? 1 : 2)
    this.#lookIn(tellsAll ? this.#looks.next(isAlone && segment.parking.mayRest) : lookMs)
  }

  /** Prints a warning once: the program has called nothing that could throw. */
  #warn({ message }: Error): void {
    if (this.#warned) return
    this.#warned = true
    process.emitWarning(`this process could not clean up after another: ${message}`, 'VerbenaWarning')
  }
}
