/** The WebSocket to the monitor: updates come, questions go. It connects again when it is lost, and asks for the token if there is one. */
import type { Hello, Question, QuestionAnswer, Update } from '../view/index.ts'

export interface Events {
  hello(hello: Hello): void
  update(update: Update): void
  /** `reason`: why there is no connection. */
  lost(reason: string): void
  /** The server does not let this page in; it may want a token. */
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
}

const tokenKey = 'verbena-monitor-token'
const againMs = 2000

export class Connection {
  readonly #events: Events
  readonly #waiting = new Map<number, Waiting>()
  #socket: WebSocket | undefined
  #id = 0

  constructor(events: Events) {
    this.#events = events
    this.#connect()
  }

  set token(token: string) {
    sessionStorage.setItem(tokenKey, token)
    this.#connect()
  }

  /** Rejects with the reason, if the monitor does not answer that. */
  ask<A extends Question['ask']>(question: Extract<Question, { ask: A }>): Promise<QuestionAnswer[A]> {
    const id = ++this.#id
    return new Promise((resolve, reject) => {
      if (this.#socket?.readyState !== WebSocket.OPEN) return reject(new Error('there is no connection to the monitor'))
      this.#waiting.set(id, { resolve: (answer) => resolve(answer as QuestionAnswer[A]), reject })
      this.#socket.send(JSON.stringify({ id, ...question }))
    })
  }

  #connect(): void {
    const token = sessionStorage.getItem(tokenKey)
    const address = new URL('/live', location.href)
    address.protocol = address.protocol.replace('http', 'ws')
    if (token !== null) address.searchParams.set('token', token)
    const socket = new WebSocket(address)
    this.#socket = socket
    let isOpen = false
    socket.addEventListener('message', ({ data }) => {
      isOpen = true
      this.#take(JSON.parse(String(data)) as Message)
    })
    socket.addEventListener('close', ({ reason }) => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the connection to the monitor was lost'))
      this.#waiting.clear()
      if (this.#socket !== socket) return
      if (isOpen) this.#events.lost(reason || 'the connection to the monitor was lost')
      void this.#again(isOpen, token !== null)
    })
  }

  /** Whether it is the token, or the monitor is not there. */
  async #again(wasOpen: boolean, hadToken: boolean): Promise<void> {
    if (!wasOpen) {
      const isThere = await fetch('/', { method: 'HEAD' }).then(
        ({ ok }) => ok,
        () => false,
      )
      if (isThere) return this.#events.rejected(hadToken)
      this.#events.lost('the monitor cannot be reached')
    }
    setTimeout(() => this.#connect(), againMs)
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
    if (message.kind === 'answer') waiting?.resolve(message.answer)
    else waiting?.reject(new Error(message.reason))
  }
}
