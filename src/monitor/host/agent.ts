/**
 * Agent side: gets the plan of windows from a collector, and sends windows to it. Windows wait, up to a limit, while the collector cannot
 * be reached; they keep their numbers, so that one that it has already is not counted again.
 */
import {
  leastSketchBytes,
  type MonitorConfig,
  MonitorError,
  mostSketchBytes,
  mostWindowMs,
  plainText,
  type Window,
  type WindowPlan,
  windowVersion,
} from '../index.ts'
import { ask } from './request.ts'
import { packWindow } from './store.ts'

export interface AgentOptions {
  /** Address: http://host:port or https://host:port */
  url: string
  token: string
  /** Certificate authority of the collector's certificate, in PEM. */
  ca?: string
  /** Maximum number of windows that wait (default 60). */
  mostWaiting?: number
  /** Receives a message for the user, once for each change of state. */
  onState(text: string): void
  /** Receives another plan of the collector, which windows must follow from now on. */
  onPlan(plan: WindowPlan): void
}

const mostPauseMs = 10_000
const leastAskMs = 10_000
/** Bytes per millisecond of the slowest link: windows get through links of 160 kbit/s. */
const slowestLink = 20

export class AgentClient {
  readonly #options: AgentOptions
  readonly #queue: { packed: Uint8Array; plan: WindowPlan }[] = []
  #sending: Promise<void> | undefined
  #state = ''
  #closed = false
  #wake: (() => void) | undefined
  #plan: WindowPlan | undefined
  /** Number of windows that had to be dropped: too many waited, or the collector's plan changed. */
  lost = 0

  constructor(options: AgentOptions) {
    this.#options = options
  }

  /** Returns the number of windows that wait to be sent. */
  get waiting(): number {
    return this.#queue.length
  }

  /**
   * Returns the collector's plan. Throws MonitorError if the collector rejects the request, and the system's error if it cannot be reached.
   */
  async plan(): Promise<WindowPlan> {
    const { status, text } = await this.#ask('GET', '/v1/plan')
    if (status !== 200) throw new MonitorError('ERR_MONITOR_VALUE', `the collector refuses: ${reasonOf(status, text)}`)
    this.#plan = planOf(text)
    return this.#plan
  }

  /** Takes a window, which must not be used any more. A window of another plan than the collector's, as far as it is known, is lost. */
  send(window: Window): void {
    if (this.#plan !== undefined && !isSame(window.plan, this.#plan)) {
      this.lost++
      return
    }
    this.#queue.push({ packed: packWindow(window), plan: window.plan })
    while (this.#queue.length > (this.#options.mostWaiting ?? 60)) {
      this.#queue.shift()
      this.lost++
    }
    this.#sending ??= this.#run()
  }

  /** Sends the windows that wait, for at most `waitMs`; returns the number of windows that could not be sent. */
  async close(waitMs: number): Promise<number> {
    const end = setTimeout(() => {
      this.#closed = true
      this.#wake?.()
    }, waitMs)
    await this.#sending
    clearTimeout(end)
    this.#closed = true
    return this.#queue.length
  }

  async #run(): Promise<void> {
    let pauseMs = 250
    while (this.#queue.length > 0 && !this.#closed) {
      const first = this.#queue[0]!
      try {
        const { status, text } = await this.#ask('POST', '/v1/windows', first.packed)
        if (status === 200) {
          if (this.#queue[0] === first) this.#queue.shift()
          this.#say('')
          pauseMs = 250
          continue
        }
        this.#say(`the collector refuses: ${reasonOf(status, text)}`)
        if (status === 409) await this.#followPlan()
        // A window that the collector rejects now it would reject later.
        if (status === 409 || status === 400 || status === 413) {
          this.#dropFirst(first)
          continue
        }
      } catch (error) {
        this.#say(`the collector cannot be reached: ${(error as Error).message}`)
      }
      await this.#pause(pauseMs)
      pauseMs = Math.min(mostPauseMs, pauseMs * 2)
    }
    // Not in a continuation of the promise: a window that is queued before that runs would never be sent.
    this.#sending = undefined
  }

  #dropFirst(first: object): void {
    if (this.#queue[0] !== first) return
    this.#queue.shift()
    this.lost++
  }

  /** Follows a changed plan: the collector cannot merge windows of another plan any more. */
  async #followPlan(): Promise<void> {
    const before = this.#plan
    const plan = await this.plan()
    const kept = this.#queue.filter((one) => isSame(one.plan, plan))
    this.lost += this.#queue.length - kept.length
    this.#queue.splice(0, this.#queue.length, ...kept)
    if (before === undefined || !isSame(before, plan)) this.#options.onPlan(plan)
  }

  #say(text: string): void {
    if (text === this.#state) return
    const back = text === ''
    this.#state = text
    this.#options.onState(back ? 'the collector takes windows again' : text)
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #ask(method: 'GET' | 'POST', path: string, body?: Uint8Array): ReturnType<typeof ask> {
    const { url, token, ca } = this.#options
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'Content-Type': 'application/vnd.verbena.window' }),
    }
    const timeoutMs = leastAskMs + Math.ceil((body?.length ?? 0) / slowestLink)
    return ask({ method, url: new URL(path, url).href, headers, timeoutMs, ...(body && { body }), ...(ca && { ca }) })
  }
}

/** Returns a configuration with the collector's plan for windows, and the agent's own memory for flows. */
export function configOf(plan: WindowPlan, own: MonitorConfig): MonitorConfig {
  return { ...plan, followBytes: own.followBytes }
}

function isSame(a: WindowPlan, b: WindowPlan): boolean {
  return JSON.stringify(planDocument(a)) === JSON.stringify(planDocument(b))
}

export interface PlanDocument {
  version: number
  windowMs: number
  sketchBytes: number
  /** Seed in hexadecimal. */
  seed: string
}

export function planDocument({ version, windowMs, sketchBytes, seed }: WindowPlan): PlanDocument {
  return { version, windowMs, sketchBytes, seed: Buffer.from(seed).toString('hex') }
}

function planOf(text: string): WindowPlan {
  try {
    const { version, windowMs, sketchBytes, seed } = JSON.parse(text) as PlanDocument
    const bytes = new Uint8Array(Buffer.from(seed, 'hex'))
    const whole = [version, windowMs, sketchBytes].every((number) => Number.isInteger(number) && number > 0)
    if (Number.isInteger(version) && version !== windowVersion)
      return refuse(
        `the collector's windows have version ${version}, and those of this program version ${windowVersion}: use the same release of verbena`,
      )
    if (
      whole &&
      bytes.length === 16 &&
      windowMs <= mostWindowMs &&
      sketchBytes >= leastSketchBytes &&
      sketchBytes <= mostSketchBytes
    )
      return { version, windowMs, sketchBytes, seed: bytes }
  } catch (error) {
    if (error instanceof MonitorError) throw error
  }
  return refuse('what answers there is no collector of verbena monitor')
}

function refuse(text: string): never {
  throw new MonitorError('ERR_MONITOR_BYTES', text)
}

function reasonOf(status: number, text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    // The answer may come from any server.
    if (typeof error === 'string') return plainText(error, 300)
  } catch {
    // It is not an answer of ours.
  }
  return `HTTP status ${status}`
}
