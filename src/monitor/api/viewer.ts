/**
 * One page that looks. It has one update at a time on its way: what comes meanwhile waits, and only the newest does, so that a slow
 * one takes no memory and misses updates. These are counted, and points of time come with the next one.
 */
import type { WebSocket } from 'ws'
import { MonitorError } from '../index.ts'
import { answerQuestion, type LiveView, parseQuestion } from '../view/index.ts'

/** Answers on their way. */
const mostAnswers = 8
/** Close codes of RFC 6455, section 7.4.1. */
const goingAway = 1001
const policy = 1008

export class Viewer {
  readonly #client: WebSocket
  readonly #live: LiveView
  #since = 0
  #isSending = false
  #isNew = false
  #answers = 0
  #isAlive = true
  /** Updates that it did not get. */
  skipped = 0

  constructor(client: WebSocket, live: LiveView) {
    this.#client = client
    this.#live = live
    client.on('message', (data, isBinary) => this.#take(isBinary ? '' : data.toString()))
    client.on('pong', () => {
      this.#isAlive = true
    })
    // 'close' follows.
    client.on('error', () => {})
    client.send(JSON.stringify(live.hello()))
  }

  /** Sends what is new, as soon as it can take it. */
  update(): void {
    if (!this.#isSending) {
      this.#send()
      return
    }
    if (this.#isNew) this.skipped++
    this.#isNew = true
  }

  ping(): void {
    if (!this.#isAlive) {
      this.#client.terminate()
      return
    }
    this.#isAlive = false
    this.#client.ping()
  }

  leave(reason: string): void {
    this.#client.close(goingAway, reason)
  }

  #send(): void {
    const update = this.#live.update(this.#since, this.skipped)
    this.#since = this.#live.number
    this.#isSending = true
    this.#isNew = false
    this.#client.send(JSON.stringify(update), () => {
      this.#isSending = false
      if (this.#isNew && this.#client.readyState === this.#client.OPEN) this.#send()
    })
  }

  #take(text: string): void {
    // Our page asks one thing at a time and waits.
    if (this.#answers >= mostAnswers) {
      this.#client.close(policy, 'too many questions at once')
      return
    }
    this.#answers++
    this.#client.send(JSON.stringify(this.#answerTo(text)), () => this.#answers--)
  }

  #answerTo(text: string): unknown {
    let id = -1
    try {
      const asked = parseQuestion(text)
      id = asked.id
      return { kind: 'answer', id, answer: answerQuestion(this.#live, asked.question) }
    } catch (error) {
      if (error instanceof MonitorError) return { kind: 'refused', id, reason: error.message }
      throw error
    }
  }
}
