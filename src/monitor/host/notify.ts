/** Alerts to the outside: a log of JSON lines, a webhook, or Alertmanager (POST /api/v2/alerts of Prometheus' Alertmanager 0.16 and later). */
import { appendFileSync } from 'node:fs'
import type { AlertEvent } from '../index.ts'
import { ask } from './request.ts'

export interface NotifyOptions {
  /** A file for JSON lines. */
  logFile?: string
  webhook?: string
  /** Where Alertmanager is: http://host:9093 */
  alertmanager?: string
  /** Label `instance`, and `agent` of webhooks. */
  instance: string
  onNote(text: string): void
}

/** Alertmanager forgets what it does not hear for five minutes. */
const repeatMs = 60_000

export class Notifier {
  readonly #options: NotifyOptions
  readonly #firing = new Map<string, AlertEvent>()
  #sending: Promise<void> = Promise.resolve()
  #toldMs = 0
  /** Messages that could not be delivered. */
  failed = 0

  constructor(options: NotifyOptions) {
    this.#options = options
  }

  /** Delivers in order, without waiting; failures are counted and said. */
  tell(events: readonly AlertEvent[], nowMs: number): void {
    const { logFile, webhook, alertmanager, instance } = this.#options
    for (const event of events) {
      if (event.state === 'firing') this.#firing.set(event.rule, event)
      else this.#firing.delete(event.rule)
    }
    if (logFile !== undefined)
      for (const event of events) appendFileSync(logFile, `${JSON.stringify({ instance, ...event })}\n`)
    if (webhook !== undefined) for (const event of events) this.#post(webhook, { instance, ...event })
    if (alertmanager === undefined) return
    const again =
      nowMs - this.#toldMs >= repeatMs ? [...this.#firing.values()].filter((one) => !events.includes(one)) : []
    const all = [...events, ...again]
    if (all.length === 0) return
    if (nowMs - this.#toldMs >= repeatMs) this.#toldMs = nowMs
    this.#post(
      new URL('/api/v2/alerts', alertmanager).href,
      all.map((event) => alertmanagerAlert(event, instance)),
    )
  }

  /** Resolves when all is delivered or has failed. */
  async close(): Promise<void> {
    await this.#sending
  }

  #post(url: string, document: unknown): void {
    const headers = { 'Content-Type': 'application/json' }
    this.#sending = this.#sending.then(async () => {
      try {
        const { status } = await ask({ method: 'POST', url, headers, body: JSON.stringify(document) })
        if (status >= 300) throw new Error(`HTTP status ${status}`)
      } catch (error) {
        this.failed++
        this.#options.onNote(`an alert could not be delivered to ${url}: ${(error as Error).message}`)
      }
    })
  }
}

/** As Alertmanager's API has it: what makes an alert the same one is its labels. */
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
