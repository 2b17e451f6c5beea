/**
 * WebSocket to the monitor: receives updates, and sends questions. It reconnects when the connection is lost, and requests the token if
 * there is one.
 */
import { PageToken } from '../../page/index.ts'
import type { Hello, Question, QuestionAnswer, Update } from '../view/index.ts'
import { unlessPressed } from './press.ts'

export interface Events {
  hello(hello: Hello): void
  update(update: Update): void
  /** Handles a lost connection, which will be tried again, with the reason. */
  lost(reason: string): void
  /** Handles a server that requires a token, or another one. */
  rejected(hadToken: boolean): void
}

type Message =
  | Hello
  | Update
  | { kind: 'answer'; id: number; answer: unknown }
  | { kind: 'refused'; id: number; reason: string }

interface Waiting {
  resolve(answer: unknown): void
  reject(error: Error): void
  timer: ReturnType<typeof setTimeout>
}

const againMs = 2000
/** Time for an answer: the monitor answers when capturing leaves it time. */
const answerMs = 60_000
/** Maximum number of questions at a time, of which the server takes eight. */
const mostQuestions = 6

export class Connection {
  readonly #events: Events
  readonly #token = new PageToken('verbena-monitor-token')
  readonly #waiting = new Map<number, Waiting>()
  #socket: WebSocket | undefined
  #again: ReturnType<typeof setTimeout> | undefined
  #id = 0

  constructor(events: Events) {
    this.#events = events
    this.#connect()
  }

  set token(token: string) {
    this.#token.value = token
    this.#connect()
  }

  /** Sends a question. Rejects with the reason, if the monitor rejects it, or does not answer in time. */
  ask<A extends Question['ask']>(question: Extract<Question, { ask: A }>): Promise<QuestionAnswer[A]> {
    const id = ++this.#id
    return new Promise((resolve, reject) => {
      if (this.#socket?.readyState !== WebSocket.OPEN) return reject(new Error('there is no connection to the monitor'))
      if (this.#waiting.size >= mostQuestions)
        return reject(new Error('the monitor has other questions to answer first'))
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error('the monitor has not answered for a minute'))
      }, answerMs)
      this.#waiting.set(id, { resolve: (answer) => resolve(answer as QuestionAnswer[A]), reject, timer })
      this.#socket.send(JSON.stringify({ id, ...question }))
    })
  }

  /** Connects, and ends the previous connection: there is one socket at a time. */
  #connect(): void {
    clearTimeout(this.#again)
    const old = this.#socket
    const token = this.#token.value
    const address = new URL('/live', location.href)
    if (token !== null) address.searchParams.set('token', token)
    const socket = new WebSocket(String(address).replace('http', 'ws'))
    this.#socket = socket
    old?.close()
    this.#forget()
    let wasOpen = false
    socket.addEventListener('message', ({ data }) => {
      wasOpen = true
      unlessPressed(() => {
        if (this.#socket === socket) this.#take(JSON.parse(String(data)) as Message)
      })
    })
    socket.addEventListener('close', ({ reason }) => {
      if (this.#socket !== socket) return
      this.#forget()
      void this.#lost(socket, wasOpen ? reason || 'the connection to the monitor was lost' : address)
    })
  }

  /** Handles a lost connection. `why`: the reason, or the address from which it is fetched. */
  async #lost(socket: WebSocket, why: string | URL): Promise<void> {
    const reason = typeof why === 'string' ? why : await reasonOf(why)
    // The user may have entered a token meanwhile.
    if (this.#socket !== socket) return
    if (reason === null) {
      this.#events.rejected(this.#token.value !== null)
      return
    }
    this.#events.lost(reason)
    this.#again = setTimeout(() => this.#connect(), againMs)
  }

  #forget(): void {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      reject(new Error('the connection to the monitor was lost'))
    }
    this.#waiting.clear()
  }

  #take(message: Message): void {
    if (message.kind === 'hello') {
      this.#events.hello(message)
      return
    }
    if (message.kind === 'update') {
      this.#events.update(message)
      return
    }
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    clearTimeout(waiting?.timer)
    if (message.kind === 'answer') waiting?.resolve(message.answer)
    else waiting?.reject(new Error(message.reason))
  }
}

/** Returns the reason why a WebSocket does not open, which browsers do not report; null: the token. */
async function reasonOf(address: URL): Promise<string | null> {
  try {
    const response = await fetch(address)
    if (response.status === 401) return null
    if (response.status === 426) return 'the monitor is there, but no WebSocket to it opens'
    const { error } = (await response.json()) as { error?: unknown }
    return typeof error === 'string' ? error : `the answer is ${response.status}`
  } catch {
    return 'the monitor cannot be reached'
  }
}
