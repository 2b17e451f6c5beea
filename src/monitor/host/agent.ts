/**
 * The agent's side: gets the plan of windows from a collector, and sends it what was seen. Windows wait, up to a limit, while the
 * collector cannot be reached; they keep their numbers, so that one that it has already is not counted again.
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
  /** http://host:port or https://host:port */
  url: string
  token: string
  /** Of the collector's certificate, in PEM. */
  ca?: string
  /** Windows that may wait (default 60). */
  mostWaiting?: number
  /** What a person should know: once for each change. */
  onState(text: string): void
  /** The collector has another plan: windows must follow that from now on. */
  onPlan(plan: WindowPlan): void
}

const mostPauseMs = 10_000
const leastAskMs = 10_000
/** Bytes a millisecond: windows get through links of 160 kbit/s. */
const slowestLink = 20

export class AgentClient {
  readonly #options: AgentOptions
  readonly #queue: { packed: Uint8Array; plan: WindowPlan }[] = []
  #sending: Promise<void> | undefined
  #state = ''
  #closed = false
  #wake: (() => void) | undefined
  #plan: WindowPlan | undefined
  /** Windows that had to be dropped: too many waited, or the collector's plan changed. */
  lost = 0

  constructor(options: AgentOptions) {
    this.#options = options
  }

  /** Windows that wait to be sent. */
  get waiting(): number {
    return this.#queue.length
  }

  /** The collector's plan. Throws MonitorError if the collector refuses, and the system's error if it cannot be reached. */
  async plan(): Promise<WindowPlan> {
    const { status, text } = await this.#ask('GET', '/v1/plan')
    if (status !== 200) throw new MonitorError('ERR_MONITOR_VALUE', `the collector refuses: ${reasonOf(status, text)}`)
    this.#plan = planOf(text)
    return this.#plan
  }

  /** Takes a window, which must not be used any more. One of another plan than the collector's, as far as it is known, is lost. */
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

  /** Sends what waits, for so long; returns how many windows could not be sent. */
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
        // What the collector does not take now it will not take later.
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
    // Not in a promise of its own: a window that is sent before that runs would find nobody.
    this.#sending = undefined
  }

  #dropFirst(first: object): void {
    if (this.#queue[0] !== first) return
    this.#queue.shift()
    this.lost++
  }

  /** What follows another plan than the collector has now cannot be merged by it any more. */
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

/** The memory of an agent for what it follows is its own, windows are the collector's. */
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
  /** Hexadecimal. */
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
    // It may be anybody's answer.
    if (typeof error === 'string') return plainText(error, 300)
  } catch {
    // Not ours.
  }
  return `HTTP status ${status}`
}
