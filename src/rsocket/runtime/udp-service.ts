/**
 * The UDP side of datagram sockets: see udp-service-thread.ts. One service for all sockets of a thread.
 *
 * The thread receives while the program computes, and the datagrams wait here, for each socket up to a limit. Beyond
 * that the thread drops and counts, as a kernel does with a full receive buffer.
 */
import { closeSync, openSync } from 'node:fs'
import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads'
import { entryModule, inRootContext, outOfDescriptors, startThread, withContext } from '../../memory/index.ts'
import { Errno, type ErrnoName } from '../protocol/index.ts'
import { datagramCost, type FromUdp, Room, type ToUdp } from './udp-messages.ts'

export interface UdpOwner {
  /** Notifies the socket that the thread dropped datagrams because the socket's limit was reached. */
  udpDropped(datagrams: number): void
  udpData(data: Uint8Array, address: string, port: number): void
}

/** Maximum time for which `bind` blocks. A thread starts in a fraction of a second; beside much other work it took more than five seconds. */
const answerMs = 20_000

/** Number of descriptors that a thread and its first socket need. */
const threadDescriptors = 12

let service: UdpService | undefined

interface Bound {
  owner: UdpOwner
  room: Int32Array
}

export class UdpService {
  readonly #port: MessagePort
  readonly #worker: Worker
  readonly #signal: Int32Array = new Int32Array(new SharedArrayBuffer(4))
  readonly #bound = new Map<number, Bound>()
  readonly #answers = new Map<number, FromUdp>()
  readonly #starting = new Set<(failure?: string) => void>()
  #next = 1
  #holds = 0
  #running = false
  /** Reason why the thread is gone. */
  #failure: string | undefined

  constructor() {
    const { port1, port2 } = new MessageChannel()
    const entry = entryModule(import.meta.url, './udp-service-thread')
    this.#worker = startThread(entry, { workerData: { port: port2, signal: this.#signal }, transferList: [port2] })
    this.#worker.unref()
    // Existing sockets receive nothing more over UDP; the next one starts another thread.
    this.#worker.on('error', (error) => {
      this.#failure = `the thread of the UDP sockets failed: ${error.message}`
      if (service === this) service = undefined
      this.#started()
    })
    this.#port = port1
    port1.on('message', (message: FromUdp) => this.#take(message))
    port1.unref()
  }

  /**
   * Returns the service, or an error if the thread cannot be started: the thread itself would report that only later, in the event loop.
   */
  static get(): UdpService | { errno: number; text: string } {
    if (service !== undefined) return service
    const descriptors: number[] = []
    try {
      for (let i = 0; i < threadDescriptors; i++) descriptors.push(openSync('/dev/null', 'r'))
    } catch (error) {
      if (outOfDescriptors(error)) {
        const text = `no descriptors for the thread of the UDP sockets: ${(error as Error).message}`
        return { errno: Errno.EMFILE, text }
      }
    } finally {
      for (const descriptor of descriptors) closeSync(descriptor)
    }
    try {
      service = inRootContext(() => new UdpService())
    } catch (error) {
      // The system, or Node's permission model, allows no more threads.
      const text = `the thread of the UDP sockets cannot be started: ${(error as Error).message}`
      return { errno: Errno.EAGAIN, text }
    }
    return service
  }

  /**
   * Waits in the event loop, where `bind` must not block, until the thread has started: calls `done`, in the context of the caller, once
   * the thread runs (now, if it does), or with the reason if it fails to. Missing resources are left to `bind`, which reports them.
   */
  static whenRunning(done: (failure?: string) => void): void {
    const one = UdpService.get()
    if (!(one instanceof UdpService) || one.#running) {
      done()
      return
    }
    one.#starting.add(withContext(done))
    one.#worker.ref()
  }

  /** True if the thread has started. */
  get running(): boolean {
    return this.#running
  }

  /** Notifies the waiters that the thread runs now, or never will. */
  #started(): void {
    const all = [...this.#starting]
    this.#starting.clear()
    this.#worker.unref()
    // Not from inside a call of the program.
    for (const done of all) inRootContext(() => setImmediate(done, this.#failure))
  }

  #take(message: FromUdp): void {
    if (message.what === 'ready') {
      this.#running = true
      this.#started()
      return
    }
    if (message.what !== 'data') {
      this.#answers.set(message.id, message)
      return
    }
    const bound = this.#bound.get(message.id)
    if (bound === undefined) return
    const { owner, room } = bound
    Atomics.sub(room, Room.waiting, message.data.length + datagramCost)
    if (Atomics.load(room, Room.dropped) > 0) owner.udpDropped(Atomics.exchange(room, Room.dropped, 0))
    owner.udpData(message.data, message.address, message.port)
  }

  /** Takes the datagrams that have arrived, without the event loop. */
  pump(): void {
    for (let got = receiveMessageOnPort(this.#port); got !== undefined; got = receiveMessageOnPort(this.#port))
      this.#take(got.message as FromUdp)
  }

  /** Blocks until something may have arrived, at most `ms`. */
  sleep(ms: number): void {
    const seen = Atomics.load(this.#signal, 0)
    this.pump()
    Atomics.wait(this.#signal, 0, seen, ms)
    this.pump()
  }

  /** Binds a socket; returns its number and port, or the error. */
  bind(
    owner: UdpOwner,
    family: 4 | 6,
    address: string,
    port: number,
    options: { reuse: boolean; v6Only: boolean },
    limitBytes: number,
  ): { id: number; port: number } | { errno: number; text: string } {
    const id = this.#next++
    const room = new Int32Array(new SharedArrayBuffer(4 * Object.keys(Room).length))
    room[Room.limit] = limitBytes
    this.#post({ what: 'bind', id, family, address, port, ...options, room })
    const end = performance.now() + answerMs
    for (;;) {
      const seen = Atomics.load(this.#signal, 0)
      this.pump()
      const answer = this.#answers.get(id)
      if (answer?.what === 'bound') {
        this.#answers.delete(id)
        this.#bound.set(id, { owner, room })
        return { id, port: answer.port }
      }
      if (answer?.what === 'failed') {
        this.#answers.delete(id)
        return { errno: Errno[answer.code as ErrnoName] ?? Errno.EIO, text: answer.text }
      }
      const left = end - performance.now()
      if (this.#failure !== undefined) return { errno: Errno.EIO, text: this.#failure }
      if (left <= 0) {
        // If the thread still starts later, no socket would own the port.
        this.close(id)
        return {
          errno: Errno.ETIMEDOUT,
          text: `the thread of the UDP sockets has not answered for ${answerMs / 1000} s`,
        }
      }
      Atomics.wait(this.#signal, 0, seen, left)
    }
  }

  send(id: number, data: Uint8Array, address: string, port: number): void {
    this.#post({ what: 'send', id, data, address, port })
  }

  setLimit(id: number, bytes: number): void {
    const bound = this.#bound.get(id)
    if (bound !== undefined) Atomics.store(bound.room, Room.limit, bytes)
  }

  setBroadcast(id: number, on: boolean): void {
    this.#post({ what: 'broadcast', id, on })
  }

  close(id: number): void {
    this.#bound.delete(id)
    this.#post({ what: 'close', id })
  }

  /** Keeps the process alive while a socket holds the service. */
  hold(): void {
    if (this.#holds++ === 0) this.#port.ref()
  }

  unhold(): void {
    if (--this.#holds === 0) this.#port.unref()
  }

  #post(message: ToUdp): void {
    this.#port.postMessage(message)
  }
}
