/** Messages to one URL, in their order. A peer that hangs delays no other peer, and the number of messages that wait for it is limited. */
import { ask } from './request.ts'

interface OutboxOptions {
  url: string
  /** Maximum number of messages that wait (default 100); beyond that, the oldest is dropped. */
  mostWaiting?: number
  /** Receives the result of each message: the reason why it was not delivered, or undefined if it was. */
  onResult(error: Error | undefined): void
}

const askMs = 10_000

export class Outbox {
  readonly #options: OutboxOptions
  readonly #queue: string[] = []
  #sending: Promise<void> | undefined
  #endMs = Number.POSITIVE_INFINITY

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** Delivers a document as JSON, without waiting. */
  post(document: unknown): void {
    const { mostWaiting = 100, onResult } = this.#options
    if (this.#queue.length >= mostWaiting) {
      this.#queue.shift()
      onResult(new Error(`${mostWaiting} others wait`))
    }
    this.#queue.push(JSON.stringify(document))
    this.#sending ??= this.#run()
  }

  /** Resolves when all messages are delivered or have failed; a message that waits for longer than `waitMs` has failed. */
  async close(waitMs: number): Promise<void> {
    this.#endMs = performance.now() + waitMs
    await this.#sending
  }

  async #run(): Promise<void> {
    for (let body = this.#queue.shift(); body !== undefined; body = this.#queue.shift())
      this.#options.onResult(await this.#deliver(body).catch((error: Error) => error))
    this.#sending = undefined
  }

  async #deliver(body: string): Promise<undefined> {
    const timeoutMs = Math.ceil(Math.min(askMs, this.#endMs - performance.now()))
    if (timeoutMs <= 0) throw new Error('there was no time left')
    const headers = { 'Content-Type': 'application/json' }
    const { status } = await ask({ method: 'POST', url: this.#options.url, headers, body, timeoutMs })
    if (status >= 300) throw new Error(`HTTP status ${status}`)
  }
}
