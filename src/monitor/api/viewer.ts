/**
 * One page that is connected. It has one update at a time in flight: only the newest of the updates that come meanwhile waits, so that a
 * slow page takes no memory and misses updates. These are counted, and their points of time come with the next one. Its questions are
 * answered in turn with those of other pages.
 */
import type { WebSocket } from 'ws'
import { parseQuestion } from '../view/index.ts'
import type { Texts } from './texts.ts'
import type { Turns } from './turns.ts'

/** Maximum number of questions that wait and answers in flight. */
const mostAnswers = 8
/** Close codes of RFC 6455, section 7.4.1. */
const goingAway = 1001
const policy = 1008

/** State that all viewers of a server share. */
export interface Shared {
  texts: Texts
  turns: Turns<Viewer>
}

export class Viewer {
  readonly #client: WebSocket
  readonly #shared: Shared
  #since = 0
  #isSending = false
  #isNew = false
  #answers = 0
  #isAlive = true
  /** Number of updates that the page did not get. */
  skipped = 0

  constructor(client: WebSocket, shared: Shared) {
    this.#client = client
    this.#shared = shared
    client.on('message', (data, isBinary) => this.#take(isBinary ? '' : data.toString()))
    client.on('pong', () => {
      this.#isAlive = true
    })
    client.on('close', () => shared.turns.drop(this))
    // 'close' follows.
    client.on('error', () => {})
    client.send(shared.texts.hello())
  }

  /** Sends the newest update as soon as the page can take it. */
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
    const text = this.#shared.texts.update(this.#since, this.skipped)
    this.#since = this.#shared.texts.newest
    this.#isSending = true
    this.#isNew = false
    this.#client.send(text, () => {
      this.#isSending = false
      if (this.#isNew && this.#client.readyState === this.#client.OPEN) this.#send()
    })
  }

  #take(text: string): void {
    // Our page sends a few questions at a time and waits.
    if (this.#answers >= mostAnswers) {
      this.#client.close(policy, 'too many questions at once')
      return
    }
    this.#answers++
    this.#shared.turns.add(this, () => {
      const answer = this.#shared.texts.answer(parseQuestion(text))
      this.#client.send(answer, () => this.#answers--)
    })
  }
}
