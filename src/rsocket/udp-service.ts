/** The UDP side of datagram sockets: see udp-service.worker.ts. One service for all sockets of a thread. */
import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads'
import { inRootContext, startThread } from '../memory/index.ts'
import { Errno } from './constants.ts'

export type ToUdp =
  | { what: 'bind'; id: number; family: 4 | 6; address: string; port: number; reuse: boolean; v6Only: boolean }
  | { what: 'send'; id: number; data: Uint8Array; address: string; port: number }
  | { what: 'broadcast'; id: number; on: boolean }
  | { what: 'close'; id: number }

export type FromUdp =
  | { what: 'bound'; id: number; port: number }
  | { what: 'failed'; id: number; errno: number; text: string }
  | { what: 'data'; id: number; data: Uint8Array; address: string; port: number }

export interface UdpOwner {
  udpData(data: Uint8Array, address: string, port: number): void
}

/** A thread needs so long to start, at most. */
const startMs = 20_000

let service: UdpService | undefined

export class UdpService {
  readonly #port: MessagePort
  readonly #worker: Worker
  readonly #signal: Int32Array = new Int32Array(new SharedArrayBuffer(4))
  readonly #owners = new Map<number, UdpOwner>()
  readonly #answers = new Map<number, FromUdp>()
  #next = 1
  #holds = 0

  constructor() {
    const { port1, port2 } = new MessageChannel()
    const entry = new URL(
      import.meta.url.endsWith('.ts') ? './udp-service.worker.ts' : './udp-service.worker.js',
      import.meta.url,
    )
    this.#worker = startThread(entry, { workerData: { port: port2, signal: this.#signal }, transferList: [port2] })
    this.#worker.unref()
    this.#port = port1
    port1.on('message', (message: FromUdp) => this.#take(message))
    port1.unref()
  }

  static get(): UdpService {
    service ??= inRootContext(() => new UdpService())
    return service
  }

  #take(message: FromUdp): void {
    if (message.what === 'data') this.#owners.get(message.id)?.udpData(message.data, message.address, message.port)
    else this.#answers.set(message.id, message)
  }

  /** Takes what has come, without the event loop. */
  pump(): void {
    for (let got = receiveMessageOnPort(this.#port); got !== undefined; got = receiveMessageOnPort(this.#port))
      this.#take(got.message as FromUdp)
  }

  /** Blocks until something may have come, at most so long. */
  sleep(ms: number): void {
    const seen = Atomics.load(this.#signal, 0)
    this.pump()
    Atomics.wait(this.#signal, 0, seen, ms)
    this.pump()
  }

  /** The socket's number and port, or the error. */
  bind(
    owner: UdpOwner,
    family: 4 | 6,
    address: string,
    port: number,
    options: { reuse: boolean; v6Only: boolean },
  ): { id: number; port: number } | { errno: number; text: string } {
    const id = this.#next++
    this.#say({ what: 'bind', id, family, address, port, ...options })
    const end = performance.now() + startMs
    for (;;) {
      const seen = Atomics.load(this.#signal, 0)
      this.pump()
      const answer = this.#answers.get(id)
      if (answer?.what === 'bound') {
        this.#answers.delete(id)
        this.#owners.set(id, owner)
        return { id, port: answer.port }
      }
      if (answer?.what === 'failed') {
        this.#answers.delete(id)
        return { errno: answer.errno, text: answer.text }
      }
      const left = end - performance.now()
      if (left <= 0) return { errno: Errno.ETIMEDOUT, text: 'the thread of the UDP sockets does not start' }
      Atomics.wait(this.#signal, 0, seen, left)
    }
  }

  send(id: number, data: Uint8Array, address: string, port: number): void {
    this.#say({ what: 'send', id, data, address, port })
  }

  setBroadcast(id: number, on: boolean): void {
    this.#say({ what: 'broadcast', id, on })
  }

  close(id: number): void {
    this.#owners.delete(id)
    this.#say({ what: 'close', id })
  }

  /** While somebody holds it, what may come keeps the process alive. */
  hold(): void {
    if (this.#holds++ === 0) this.#port.ref()
  }

  unhold(): void {
    if (--this.#holds === 0) this.#port.unref()
  }

  #say(message: ToUdp): void {
    this.#port.postMessage(message)
  }
}
