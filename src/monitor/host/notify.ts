/** Delivery of alerts: a log of JSON lines, a webhook, or Alertmanager (POST /api/v2/alerts of Prometheus' Alertmanager 0.16 and later). */
import { appendFileSync } from 'node:fs'
import type { AlertEvent } from '../index.ts'
import { Outbox } from './outbox.ts'

export interface NotifyOptions {
  /** File for JSON lines. */
  logFile?: string
  webhook?: string
  /** Address of Alertmanager: http://host:9093 */
  alertmanager?: string
  /** Label `instance`, and `agent` of webhooks. */
  instance: string
  onNote(text: string): void
}

/** Interval of repetitions: Alertmanager forgets an alert that is not repeated for five minutes. */
const repeatMs = 60_000
const closeMs = 10_000

export class Notifier {
  readonly #options: NotifyOptions
  readonly #webhook: Outbox | undefined
  readonly #alertmanager: Outbox | undefined
  readonly #firing = new Map<string, AlertEvent>()
  /** Destinations to which the last message could not be delivered, so that each failure is reported once. */
  readonly #failing = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  /** Number of messages that could not be delivered. */
  failed = 0

  constructor(options: NotifyOptions) {
    const { webhook, alertmanager } = options
    this.#options = options
    if (webhook !== undefined) this.#webhook = this.#outbox(webhook)
    if (alertmanager !== undefined) this.#alertmanager = this.#outbox(new URL('/api/v2/alerts', alertmanager).href)
  }

  /** Delivers events in order, without waiting; failures are counted and reported. */
  notify(events: readonly AlertEvent[]): void {
    const { logFile, instance } = this.#options
    for (const event of events) {
      if (event.state === 'firing') this.#firing.set(event.rule, event)
      else this.#firing.delete(event.rule)
      if (logFile !== undefined) this.#log(logFile, { instance, ...event })
      this.#webhook?.post({ instance, ...event })
    }
    this.#alert(events)
    if (this.#alertmanager === undefined) return
    // Alerts are repeated even when no window comes any more.
    if (this.#firing.size > 0)
      this.#timer ??= setInterval(() => this.#alert([...this.#firing.values()]), repeatMs).unref()
    else this.#rest()
  }

  /** Resolves when all messages are delivered or have failed. */
  async close(): Promise<void> {
    this.#rest()
    await Promise.all([this.#webhook?.close(closeMs), this.#alertmanager?.close(closeMs)])
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #alert(events: readonly AlertEvent[]): void {
    if (events.length > 0)
      this.#alertmanager?.post(events.map((event) => alertmanagerAlert(event, this.#options.instance)))
  }

  #log(file: string, line: object): void {
    try {
      appendFileSync(file, `${JSON.stringify(line)}\n`)
      this.#result(file, undefined)
    } catch (error) {
      this.#result(file, error as Error)
    }
  }

  #outbox(url: string): Outbox {
    return new Outbox({ url, onResult: (error) => this.#result(url, error) })
  }

  #result(to: string, error: Error | undefined): void {
    if (error === undefined) {
      this.#failing.delete(to)
      return
    }
    this.failed++
    if (this.#failing.has(to)) return
    this.#failing.add(to)
    this.#options.onNote(`alerts cannot be delivered to ${to}: ${error.message}`)
  }
}

/** Returns an alert in the format of Alertmanager's API, where alerts with equal labels are the same alert. */
export function alertmanagerAlert(
  event: AlertEvent,
  instance: string,
): {
  labels: Record<string, string>
  annotations: Record<string, string>
  startsAt: string
  endsAt?: string
} {
  return {
    labels: { alertname: `verbena_${event.metric.replaceAll(/[^\w]/g, '_')}`, rule: event.rule, instance },
    annotations: { summary: event.text, description: event.reasons.join('\n') },
    startsAt: event.since,
    ...(event.state === 'resolved' && { endsAt: event.at }),
  }
}
