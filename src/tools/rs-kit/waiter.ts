/**
 * Waiting of the programs' loops in their thread: they retry for a while, then sleep until the socket is ready. Now and
 * then they check whether the run has been stopped, and whether nothing has arrived for too long.
 */
import { POLLERR, POLLHUP, POLLIN, POLLOUT } from '../../rsocket/index.ts'
import { EndError } from '../kit/index.ts'
import { errorText, isEagain, type ToolSocket } from './tool-socket.ts'

/** Socket that a thread can sleep on. */
interface Pollable {
  poll(events: number, timeoutMs: number): number
}

/** Milliseconds of retrying that cost about as much as falling asleep and being woken. */
const spinMs = 0.1
const sliceMs = 50
/** Milliseconds that suffice for a peer on the same core to run. */
const napMs = 0.02
/** Number of attempts between two reads of the clock. */
const looks = 32

export class Waiter {
  /** Shared memory whose word 0 another thread sets when the run shall end. */
  readonly #stop: Int32Array
  readonly #stallMs: number
  #tries = 0
  #sinceMs = 0

  constructor(stop: Int32Array, stallMs: number) {
    this.#stop = stop
    this.#stallMs = stallMs
  }

  get stopped(): boolean {
    return Atomics.load(this.#stop, 0) !== 0
  }

  /** Resets the wait after data was received or sent. */
  progress(): void {
    this.#tries = 0
  }

  /** Waits after a call without progress; throws when it is time to stop. `forever`: silence is not a reason. */
  idle(socket: Pollable, events: number, what: string, forever = false): void {
    if (++this.#tries % looks !== 0) return
    const now = performance.now()
    if (this.#tries === looks) this.#sinceMs = now
    this.check(now, what, forever)
    if (now - this.#sinceMs > spinMs) socket.poll(events, sliceMs)
  }

  /** Waits in the same way where no event wakes a sleeper, as for writes into mapped memory. */
  nap(what: string): void {
    if (++this.#tries % looks !== 0) return
    const now = performance.now()
    if (this.#tries === looks) this.#sinceMs = now
    this.check(now, what, false)
    if (now - this.#sinceMs > spinMs) Atomics.wait(this.#stop, 0, 0, napMs)
  }

  check(now: number, what: string, forever: boolean): void {
    if (this.stopped) throw new EndError('INTERRUPTED', 'interrupted')
    if (forever || this.#stallMs === 0 || now - this.#sinceMs < this.#stallMs) return
    throw new EndError('PEER_SILENT', `waited ${this.#stallMs / 1000} s for ${what}, and nothing came (--timeout)`)
  }

  /** Sleeps until one of `events` is true; returns the true ones. */
  ready(socket: Pollable, events: number, what: string, forever = false): number {
    this.#sinceMs = performance.now()
    for (;;) {
      const revents = socket.poll(events, sliceMs)
      if (revents !== 0) return revents
      this.check(performance.now(), what, forever)
    }
  }

  /** Pauses between two attempts. */
  pause(ms: number): void {
    Atomics.wait(this.#stop, 0, 0, ms)
    if (this.stopped) throw new EndError('INTERRUPTED', 'interrupted')
  }
}

export interface TransferOptions {
  flags: number
  /** True to call `poll` before every call. */
  async: boolean
}

function gone(socket: ToolSocket, what: string, result: number): EndError {
  const reason = socket.reason() || (result === 0 ? 'the peer ended the connection' : errorText(result))
  return new EndError('PEER_GONE', `${what}: ${reason}`)
}

/** Sends all of `bytes`. */
export function sendAll(waiter: Waiter, socket: ToolSocket, bytes: Uint8Array, options: TransferOptions): void {
  transferAll(waiter, socket, 'send', bytes, options)
}

/** Fills all of `bytes`. */
export function recvAll(waiter: Waiter, socket: ToolSocket, bytes: Uint8Array, options: TransferOptions): void {
  transferAll(waiter, socket, 'recv', bytes, options)
}

function transferAll(
  waiter: Waiter,
  socket: ToolSocket,
  call: 'send' | 'recv',
  bytes: Uint8Array,
  { flags, async }: TransferOptions,
): void {
  const events = call === 'send' ? POLLOUT : POLLIN
  const { length } = bytes
  for (let offset = 0; offset < length; ) {
    if (async) pollFor(waiter, socket, events)
    const n = socket[call](offset === 0 ? bytes : bytes.subarray(offset), flags)
    if (n > 0) {
      offset += n
      waiter.progress()
    } else if (isEagain(n)) waiter.idle(socket, events, wantedText(events))
    else throw gone(socket, call, n)
  }
}

function wantedText(events: number): string {
  return events === POLLIN ? 'data' : 'room to send'
}

function pollFor(waiter: Waiter, socket: ToolSocket, events: number): void {
  const revents = waiter.ready(socket, events, wantedText(events))
  if ((revents & events) === 0 && (revents & (POLLERR | POLLHUP)) !== 0) throw gone(socket, 'poll', 0)
}
