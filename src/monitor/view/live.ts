/**
 * Contents of a live page: numbers of each window for an hour and more, and the last windows as they are, for all questions about them; for
 * a source that ends, such as a file, also the sum of all windows. The memory of all is limited.
 */
import {
  type AgentState,
  type AlertEvent,
  answerOf,
  type Burst,
  type EventName,
  eventNames,
  eventTexts,
  type Key,
  type KeyName,
  keyTexts,
  type Measure,
  MonitorError,
  mergeWindow,
  nameOfKey,
  Window,
  type WindowAnswer,
} from '../index.ts'
import { type HeatView, heatView } from './heat.ts'

/** Exact numbers of a window. */
export interface Point {
  /** Number of the window; it counts up. */
  number: number
  startMs: number
  seconds: number
  /** Rates per second. */
  bits: number
  packets: number
  messages: number
  /** Events in the window; those that did not happen are left out. */
  events: Partial<Record<EventName, number>>
  anomalies: number
}

export interface WindowView {
  /** Number of the window; that of the sum is `sumNumber`. */
  number: number
  /** Number of windows that it sums up: 1, but for the sum. */
  windows: number
  answer: WindowAnswer
  heat: HeatView
}

export interface BurstAt {
  /** Number of its window, and the start of that window. */
  window: number
  startMs: number
  burst: Burst
}

/** First message to a page. */
export interface Hello {
  kind: 'hello'
  /** Random identifier of this run of the monitor: numbers of windows are meaningful within a run only. */
  run: string
  /** Names of keys, and their descriptions; those that are listed come first. */
  keys: [name: string, text: string][]
  measures: [name: string, text: string][]
  measure: Measure
}

/** Message to a page after the first one. */
export interface Update {
  kind: 'update'
  /** Points that the page does not have yet. */
  points: Point[]
  /** Microbursts of windows that the page does not have yet: the newest window first. */
  bursts: BurstAt[]
  /** Newest window; null before the first one. */
  window: WindowView | null
  /** Sum of all windows, once all was read; null if there is only one, or no sum was requested. */
  sum: WindowView | null
  /** Oldest window that can be queried. */
  oldest: number
  /** Number of windows that came too late to be merged. */
  late: number
  /** Alerts. `recent`: the newest first, without those that fire. */
  alerts: { rules: number; firing: AlertEvent[]; recent: AlertEvent[] }
  /** Agents of a collector. */
  agents: AgentState[]
  /** True if all was read: no window comes any more. */
  isOver: boolean
  /** Number of updates that this page did not get, because it was too slow. */
  skipped: number
}

export interface LiveViewOptions {
  keys: readonly Key[]
  measure: Measure
  /** Number of rules of alerts (default 0). */
  rules?: number
  /** Maximum memory of windows that are kept, in bytes (default 64 MiB); one is always kept. */
  mostBytes?: number
  /** Flag: all windows are summed up, for a source that ends (default false). */
  sums?: boolean
  agents?: () => AgentState[]
}

/** Number that identifies the sum of all windows in questions. */
export const sumNumber = 0
/** Number of rows of each list, and of messages. */
export const mostRows = 32
const mostPoints = 3600
const mostAlerts = 100
export const mostBurstsShown = 24
/**
 * Approximate number of bytes that a window and its answer take beside its sketches: keys on their way into these, latencies of flows,
 * lists.
 */
const besideSketches = 2 ** 19

interface Kept {
  window: Window
  answer: WindowAnswer
  heat: HeatView | undefined
}

export class LiveView {
  readonly #options: LiveViewOptions
  readonly #points: Point[] = []
  readonly #kept = new Map<number, Kept>()
  readonly #firing = new Map<string, AlertEvent>()
  readonly #run: string = crypto.randomUUID()
  #recent: AlertEvent[] = []
  #bursts: BurstAt[] = []
  #number = 0
  #late = 0
  isOver = false
  #sum: Window | undefined
  #summed = 0
  #sumView: WindowView | undefined

  constructor(options: LiveViewOptions) {
    this.#options = options
  }

  /** Returns the number of windows so far. */
  get number(): number {
    return this.#number
  }

  /** Returns the agents of a collector. */
  get agents(): AgentState[] {
    return this.#options.agents?.() ?? []
  }

  hello(): Hello {
    const { keys, measure } = this.#options
    const listed = keys.map(nameOfKey)
    const others = Object.keys(keyTexts).filter((name) => !listed.includes(name))
    const measures = { bytes: 'on the wire', packets: 'of RDMA', messages: 'whose last packet passed', ...eventTexts }
    return {
      ...{ kind: 'hello', run: this.#run, measures: Object.entries(measures), measure },
      keys: [...listed, ...others].map((name) => [name, keyTexts[name as KeyName] ?? 'as --by has it']),
    }
  }

  /**
   * Adds a window. `answer`: of that window, by the keys and the measure of the page, with `mostRows` rows. Late windows are only counted.
   */
  add(window: Window, answer: WindowAnswer, alerts: readonly AlertEvent[]): void {
    for (const event of alerts) {
      if (event.state === 'firing') this.#firing.set(event.rule, event)
      else this.#firing.delete(event.rule)
    }
    if (alerts.length > 0) this.#recent = [...alerts.toReversed(), ...this.#recent].slice(0, mostAlerts)
    if (window.late) {
      this.#late++
      return
    }
    if (this.#options.sums === true) this.#addToSum(window, answer)
    const number = ++this.#number
    this.#points.push(pointOf(number, answer))
    if (this.#points.length > 2 * mostPoints) this.#points.splice(0, mostPoints)
    const found = answer.bursts.map((burst) => ({ window: number, startMs: answer.startMs, burst }))
    this.#bursts = [...found, ...this.#bursts].slice(0, mostBurstsShown)
    this.#kept.set(number, { window, answer, heat: undefined })
    const room = (this.#options.mostBytes ?? 2 ** 26) / (window.plan.sketchBytes + besideSketches)
    for (const [old] of this.#kept) {
      if (this.#kept.size <= Math.max(1, room)) break
      this.#kept.delete(old)
    }
  }

  /** Adds a window to the sum. Windows that cannot be merged, since their plans differ for example, have no sum. */
  #addToSum(window: Window, { bursts }: WindowAnswer): void {
    if (this.#number === 0) this.#sum = new Window(window.plan, window.index)
    if (this.#sum === undefined) return
    try {
      mergeWindow(this.#sum, window, bursts)
      this.#summed++
    } catch (error) {
      if (!(error instanceof MonitorError)) throw error
      this.#sum = undefined
    }
  }

  /** Returns the sum, once all was read, if it is of more than one window. */
  get #whole(): WindowView | undefined {
    if (!this.isOver || this.#sum === undefined || this.#summed < 2) return undefined
    const { keys, measure } = this.#options
    this.#sumView ??= {
      ...{ number: sumNumber, windows: this.#summed, heat: heatView(this.#sum, measure) },
      answer: answerOf(this.#sum, { keys, measure, top: mostRows }),
    }
    return this.#sumView
  }

  /** Returns a window and its answer; undefined if there is no such window, or no longer. */
  kept(number: number): { readonly window: Window; readonly answer: WindowAnswer } | undefined {
    if (number !== sumNumber) return this.#kept.get(number)
    const whole = this.#whole
    return whole && { window: this.#sum!, answer: whole.answer }
  }

  /** Returns the view of a window; undefined if there is no such window, or no longer. */
  view(number: number): WindowView | undefined {
    if (number === sumNumber) return this.#whole
    const kept = this.#kept.get(number)
    if (kept === undefined) return undefined
    kept.heat ??= heatView(kept.window, this.#options.measure)
    return { number, windows: 1, answer: kept.answer, heat: kept.heat }
  }

  /** Returns an update. `since`: the number of the last window whose point the page has. */
  update(since: number, skipped: number): Update {
    const firing = [...this.#firing.values()]
    const recent = this.#recent.filter((event) => !firing.includes(event))
    return {
      kind: 'update',
      points: this.#points.filter(({ number }) => number > since).slice(-mostPoints),
      bursts: this.#bursts.filter(({ window }) => window > since),
      window: this.view(this.#number) ?? null,
      sum: this.#whole ?? null,
      oldest: this.#kept.keys().next().value ?? 0,
      late: this.#late,
      alerts: { rules: this.#options.rules ?? 0, firing, recent },
      agents: this.agents,
      ...{ isOver: this.isOver, skipped },
    }
  }
}

function pointOf(number: number, { startMs, seconds, rates, totals, anomalies }: WindowAnswer): Point {
  const events = Object.fromEntries(
    eventNames.filter((event) => totals[event] > 0).map((event) => [event, totals[event]]),
  )
  return { number, startMs, seconds, ...rates, events, anomalies: anomalies.length }
}
