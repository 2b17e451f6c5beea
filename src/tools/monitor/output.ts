/** Output of windows: a table, a screen as of top, or JSON; alerts; a file. The same for all commands of the monitor. */
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { currentRun, type Interruption, Lines, note, print, printPart } from '../../cli/terminal/index.ts'
import type { PageServer } from '../../monitor/api/index.ts'
import { Notifier, packWindow, WindowStore } from '../../monitor/host/index.ts'
import {
  type AgentState,
  type AlertRule,
  Alerts,
  answerOf,
  cutAnswer,
  eventNames,
  type Key,
  keyNames,
  type Measure,
  MonitorError,
  MonitorMetrics,
  parseAlert,
  parseKey,
  usualKeys,
  type Window,
  type WindowAnswer,
} from '../../monitor/index.ts'
import { LiveView, mostRows } from '../../monitor/view/index.ts'
import { choiceOption, parseInteger, UsageError, wrongValue } from '../kit/index.ts'
import { addPageOptions, type PageCommandOptions, startPage, untilInterrupted } from './page.ts'
import { showWindow } from './show.ts'

export interface OutputOptions extends PageCommandOptions {
  by?: Key[]
  of: string
  top?: string
  view?: 'lines' | 'top'
  save?: string
  alert?: AlertRule[]
  alertLog?: string
  alertWebhook?: string
  alertmanager?: string
  json?: boolean
}

export const keyHelp: string = `
Keys: ${Object.keys(keyNames).join(', ')};
or fields with commas between them: source, destination, sourceQp, destinationQp, service, operation, opcode, pkey, dscp, rkey.
Measures: bytes, packets, messages, or an event: retransmission, duplicate, missing, late, repeat, restart, timeout, nakSequence,
nakInvalid, nakAccess, nakOperational, nakOther, rnr, cnp, marked, icrc, malformed.`

export const alertHelp = `
An alert is a number of the window, < or >, a threshold, and a number of consecutive windows (1): 'missing > 100 for 3'. Numbers: counters
(missing, retransmission, timeout, rnr, cnp, marked, icrc, dropped, …), bitsPerSecond, packetsPerSecond, messagesPerSecond, flows, hosts,
ackP50, ackP99, readP50, readP99 (µs), lossPercent, markedPercent, and anomaly.KIND: incast, slow-receiver, unmarked-loss, timeouts,
access-errors, bad-icrc, pfc-storm, pollution, overload, and so on.`

/** Adds the options of how windows are shown. */
export function addViewOptions(command: Command): Command {
  return addPageOptions(command)
    .option('--by <key>', 'a key to list; may be repeated (default: connection, qp, hosts, operation)', keyOption)
    .option('--of <measure>', 'the sum to list: bytes, packets, messages, or an event', 'bytes')
    .option('--top <count>', 'rows of each list (default: 5)')
    .option('--json', 'print one JSON document for each window, a line each')
}

/** Adds the options of what is done with each window. */
export function addOutputOptions(command: Command): Command {
  return addViewOptions(command)
    .addOption(choiceOption('--view <how>', 'lines, or a screen as of top (default: lines)', ['lines', 'top']))
    .option('--save <file>', 'add each window to this file, for monitor report (default: not saved)')
    .option('--alert <rule>', 'report when a number is past a threshold; may be repeated (default: none)', alertOption)
    .option('--alert-log <file>', 'append alerts to this file as JSON lines (default: stderr only)')
    .option('--alert-webhook <url>', 'POST each alert there as JSON (default: nowhere)')
    .option('--alertmanager <url>', "POST alerts there as Prometheus' Alertmanager takes them (default: nowhere)")
}

/** Parses a value of --by, which may be repeated. */
export function keyOption(text: string, before: Key[] | undefined): Key[] {
  return [...(before ?? []), checked('--by', () => parseKey(text))]
}

function alertOption(text: string, before: AlertRule[] | undefined): AlertRule[] {
  return [...(before ?? []), checked('--alert', () => parseAlert(text))]
}

/** Runs `make` on an option's value; a MonitorError becomes a usage error. */
function checked<T>(flag: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof MonitorError) throw new UsageError(flag, error.message)
    throw error
  }
}

const measures: readonly string[] = ['bytes', 'packets', 'messages', ...eventNames]

/** Parses the value of --of. */
export function measureOf(text: string): Measure {
  if (measures.includes(text)) return text as Measure
  throw wrongValue('--of', text, measures)
}

const clearScreen = '\u001b[H\u001b[2J'

export class Output {
  readonly #keys: readonly Key[]
  readonly #measure: Measure
  readonly #top: number
  readonly #json: boolean
  readonly #screen: boolean
  readonly #lines = new Lines(currentRun().io.stdout as unknown as NodeJS.WriteStream)
  readonly #alerts: Alerts | undefined
  readonly #notifier: Notifier
  readonly #store: WindowStore | undefined
  /** Returns further lines for the screen. */
  status: () => string[] = () => []
  /** Returns the agents of a collector. */
  agents: () => AgentState[] = () => []
  windows = 0
  readonly metrics: MonitorMetrics = new MonitorMetrics()
  #before: Window | undefined
  readonly #options: OutputOptions
  readonly #live: LiveView | undefined
  #page: PageServer | undefined

  /** `hasEnd`: whether the source of windows ends by itself, as a file does, so that there is a sum of all. */
  constructor(options: OutputOptions, hasEnd = false) {
    const { by = usualKeys, of, top, view, json, alert = [], alertLog, alertWebhook, alertmanager, save } = options
    if (alert.length === 0 && [alertLog, alertWebhook, alertmanager].some((one) => one !== undefined))
      throw new UsageError('--alert', "is needed: which alerts? For example: --alert 'missing > 100'")
    this.#keys = by
    this.#measure = measureOf(of)
    this.#top = parseInteger('--top', top, 5, 1, 100_000)
    this.#json = json === true
    this.#screen = view === 'top' && !this.#json
    if (alert.length > 0) this.#alerts = new Alerts(alert)
    this.#notifier = new Notifier({
      ...{ instance: hostname(), onNote: note },
      ...(alertLog !== undefined && { logFile: alertLog }),
      ...(alertWebhook !== undefined && { webhook: urlOf('--alert-webhook', alertWebhook) }),
      ...(alertmanager !== undefined && { alertmanager: urlOf('--alertmanager', alertmanager) }),
    })
    if (save !== undefined) this.#store = openStore(save)
    this.#options = options
    const { keys, measure } = { keys: by, measure: this.#measure }
    if (options.page !== undefined)
      this.#live = new LiveView({ keys, measure, rules: alert.length, sums: hasEnd, agents: () => this.agents() })
  }

  /** Serves the live page, if there is one. */
  async start(): Promise<void> {
    this.#page = await startPage(this.#options, this.#live)
  }

  /** Ends the live page, for a command that fails; `close` ends it, too. */
  async endPage(): Promise<void> {
    await this.#page?.close()
    this.#page = undefined
  }

  /** Keeps the live page until Ctrl-C, since there are no more windows. */
  async over(stop: Interruption): Promise<void> {
    if (this.#live === undefined || this.#page === undefined) return
    this.#live.isOver = true
    this.#page.update()
    await this.flush()
    await untilInterrupted(stop)
  }

  /** Shows a window, reports its alerts and saves it. */
  window(window: Window): void {
    this.windows++
    // The page lists more rows than the terminal, of the same answer.
    const top = this.#live === undefined ? this.#top : Math.max(this.#top, mostRows)
    const whole = answerOf(window, { keys: this.#keys, measure: this.#measure, top, before: this.#before })
    const answer = cutAnswer(whole, this.#top)
    if (!window.late) this.#before = window
    this.#store?.add(packWindow(window))
    this.metrics.add(answer)
    this.#show(answer)
    const events = this.#alerts?.update(answer) ?? []
    for (const { state, text } of events) note(`${state === 'firing' ? 'ALERT' : 'Alert is over'}: ${text}`)
    this.#notifier.notify(events)
    this.#live?.add(window, cutAnswer(whole, mostRows), events)
    this.#page?.update()
  }

  #show(answer: WindowAnswer): void {
    if (this.#json) {
      this.#lines.add(JSON.stringify(answer))
      // The reader needs each window when it ends.
      void this.flush()
      return
    }
    if (this.#screen) printPart(clearScreen)
    showWindow(answer, this.#top)
    for (const line of this.status()) print(line)
  }

  /** Resolves when standard output accepts more data. */
  async flush(): Promise<void> {
    await this.#lines.flush()
  }

  async close(): Promise<void> {
    await this.flush()
    await this.endPage()
    await this.#notifier.close()
    const { failed } = this.#notifier
    if (failed > 0) note(`${failed} messages of alerts could not be delivered.`)
    this.#store?.close()
  }
}

export function urlOf(flag: string, text: string): string {
  if (/^https?:\/\/\S+$/.test(text) && URL.canParse(text)) return text
  throw wrongValue(flag, text, 'a URL', 'http://localhost:9093')
}

function openStore(path: string): WindowStore {
  try {
    return new WindowStore(path)
  } catch (error) {
    throw new UsageError('--save', `'${path}' cannot be used: ${(error as Error).message}`)
  }
}
