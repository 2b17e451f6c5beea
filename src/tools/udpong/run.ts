/**
 * `udpong`: datagrams over rsockets, or over UDP of the kernel by the same loops: echoes (latency), then as many in one
 * direction (bandwidth), of which the server reports the number that arrived. Tests, defaults and output are those of
 * rdma-core's program (`udpong-message.ts` has the messages).
 */
import { isOwnAddress } from '../../memory/index.ts'
import { MSG_DONTWAIT, POLLIN, POLLOUT } from '../../rsocket/index.ts'
import { EndError, pinApart } from '../kit/index.ts'
import {
  type CommonResult,
  type CommonSettings,
  countOf,
  countText,
  errorText,
  failureOf,
  isEagain,
  openDatagram,
  type Run,
  resolveHost,
  type Show,
  sizeText,
  type ToolDatagram,
  Waiter,
} from '../rs-kit/index.ts'
import { controlBytes, emitUdpong, maxMessageBytes, Op, parseUdpong } from './message.ts'

export const udpongPort = 7174

export interface UdpongSettings extends CommonSettings {
  /** Address of the server; undefined: this is the server, which runs until it is interrupted. */
  server?: string | undefined
  bind?: string | undefined
  port: number
  /** True to use sockets of the kernel instead of rsockets. */
  kernel: boolean
  /** True to call `poll` before every call. */
  async: boolean
  blocking: boolean
  /** True if the server sends everything back, in a custom test. */
  echo: boolean
  /** Size and count of a single custom test; undefined: the usual ones. */
  custom?: { size: number; count: number } | undefined
  bufferBytes: number
}

export interface UdpongRow {
  name: string
  /** Bytes of each datagram. */
  size: number
  /** Number of datagrams that were sent one way; of echoes both ways. */
  sent: number
  /** Number of datagrams that arrived: of echoes all, because a lost one is sent again. */
  transfers: number
  bytes: number
  seconds: number
  gbitPerSec: number
  usecPerTransfer: number
}

export interface UdpongResult extends CommonResult {
  tool: 'udpong'
  socket: 'rsocket' | 'udp'
  rows: UdpongRow[]
  /** Number of logins at the server. */
  logins?: number
}

const sizes = [64, 128, 192, 256, 384, 512, 768, 1024, 1536]
/** Milliseconds after which an unanswered LOGIN or START is sent again, and an unanswered ECHO or END. */
const slowMs = 1000
const quickMs = 1

const udpongHeading: string = [
  'name'.padEnd(10),
  ...['bytes', 'xfers', 'total'].map((text) => text.padEnd(8)),
  'time'.padStart(8),
  ' ',
  'Gb/sec'.padStart(10),
  'usec/xfer'.padStart(13),
].join('')

function udpongLine({ name, size, transfers, bytes, seconds, gbitPerSec, usecPerTransfer }: UdpongRow): string {
  return [
    name.padEnd(10),
    ...[sizeText(size), countText(transfers), sizeText(bytes)].map((text) => text.padEnd(8)),
    `${seconds.toFixed(2).padStart(8)}s`,
    gbitPerSec.toFixed(2).padStart(10),
    usecPerTransfer.toFixed(2).padStart(11),
  ].join('')
}

export async function runUdpong(settings: UdpongSettings, { stop, show }: Run): Promise<UdpongResult> {
  const { server, bind, port, kernel, bufferBytes, blocking, stallMs } = settings
  const role = server === undefined ? 'server' : 'client'
  const result: UdpongResult = { tool: 'udpong', role, socket: kernel ? 'udp' : 'rsocket', rows: [] }
  const waiter = new Waiter(stop, stallMs)
  const options = { bufferBytes: bufferBytes === 0 ? 1 << 19 : bufferBytes, blocking }
  let socket: ToolDatagram | undefined
  try {
    if (role === 'server') {
      socket = openDatagram(settings, { address: await resolveHost(bind), port }, undefined, options)
      serve(settings, socket, waiter, show, result)
    } else {
      const own = bind === undefined ? undefined : { address: await resolveHost(bind), port: 0 }
      const peer = { address: await resolveHost(server), port }
      show({ line: udpongHeading })
      socket = openDatagram(settings, own, peer, options)
      if (isOwnAddress(peer.address)) pinApart('client')
      new Client(settings, socket, waiter).run(show, result)
    }
  } catch (error) {
    result.failure = failureOf(error)
  } finally {
    socket?.close()
  }
  return result
}

/** Waits until a call can be made, with `-T a`. */
function ready(
  waiter: Waiter,
  { async }: UdpongSettings,
  socket: ToolDatagram,
  events: number,
  forever: boolean,
): void {
  if (async) waiter.ready(socket, events, events === POLLIN ? 'a datagram' : 'room to send', forever)
}

function callFlags({ blocking }: UdpongSettings): number {
  return blocking ? 0 : MSG_DONTWAIT
}

function failed(what: string, socket: ToolDatagram, result: number): EndError {
  return new EndError('SOCKET', `${what}: ${socket.reason() || errorText(result)}`)
}

// --- the server ------------------------------------------------------------------------------------------------------

function serve(settings: UdpongSettings, socket: ToolDatagram, waiter: Waiter, show: Show, result: UdpongResult): void {
  const counts = new Float64Array(256)
  const buffer = new Uint8Array(maxMessageBytes)
  result.logins = 0
  const flags = callFlags(settings)
  for (;;) {
    ready(waiter, settings, socket, POLLIN, true)
    // The wait is done here, also for blocking sockets, so that it can be interrupted.
    if (settings.blocking) waiter.ready(socket, POLLIN, 'a datagram', true)
    const n = socket.receive(buffer, flags)
    if (isEagain(n)) {
      waiter.idle(socket, POLLIN, 'a datagram', true)
      continue
    }
    if (n < 0) throw failed('receive', socket, n)
    waiter.progress()
    const header = parseUdpong(buffer, n)
    if (header === undefined) continue
    const { op } = header
    let { id, data } = header
    if (op === Op.Login) {
      show({ line: `client login from ${socket.sender()}` })
      if (isOwnAddress(socket.sender())) pinApart('server')
      id = result.logins++ & 255
    }
    if (op === Op.Login || op === Op.Start) counts[id] = 0
    else if (op === Op.End) data = counts[id]! >>> 0
    else counts[id] = counts[id]! + 1
    if (op !== Op.Login && op !== Op.Start && op !== Op.Echo && op !== Op.End) continue
    emitUdpong({ ...header, id, data }, buffer)
    answer(settings, socket, waiter, buffer.subarray(0, n))
  }
}

/** Sends an answer. One that cannot be sent is lost, like any datagram: the client sends its request again. */
function answer(settings: UdpongSettings, socket: ToolDatagram, waiter: Waiter, bytes: Uint8Array): void {
  for (;;) {
    ready(waiter, settings, socket, POLLOUT, false)
    if (!isEagain(socket.reply(bytes, callFlags(settings)))) return
    waiter.idle(socket, POLLOUT, 'room to send')
  }
}

// --- the client ------------------------------------------------------------------------------------------------------

class Client {
  readonly #settings: UdpongSettings
  readonly #socket: ToolDatagram
  readonly #waiter: Waiter
  readonly #flags: number
  readonly #out: Uint8Array = new Uint8Array(maxMessageBytes)
  readonly #in: Uint8Array = new Uint8Array(maxMessageBytes)
  #id = 0
  #seqno = 0

  constructor(settings: UdpongSettings, socket: ToolDatagram, waiter: Waiter) {
    this.#settings = settings
    this.#socket = socket
    this.#waiter = waiter
    this.#flags = callFlags(settings)
  }

  run(show: Show, result: UdpongResult): void {
    const { custom, echo } = this.#settings
    this.#ask(Op.Login, controlBytes, slowMs)
    this.#id = this.#in[1]!
    const tests =
      custom !== undefined
        ? [{ name: 'custom', ...custom, echo }]
        : [
            ...sizes.map((size) => ({ name: `${sizeName(size)}_lat`, size, count: countOf(size) / 10, echo: true })),
            ...sizes.map((size) => ({ name: `${sizeName(size)}_bw`, size, count: countOf(size), echo: false })),
          ]
    for (const test of tests) {
      const row = this.#test(test)
      result.rows.push(row)
      show({ line: udpongLine(row) })
    }
  }

  #test({ name, size, count, echo }: { name: string; size: number; count: number; echo: boolean }): UdpongRow {
    this.#ask(Op.Start, controlBytes, slowMs)
    const start = performance.now()
    if (echo) for (let i = 0; i < count; i++) this.#ask(Op.Echo, size, quickMs)
    else for (let i = 0; i < count; i++) this.#send(Op.Data, size)
    this.#ask(Op.End, controlBytes, quickMs)
    const ms = performance.now() - start
    const transfers = echo ? count * 2 : parseUdpong(this.#in, controlBytes)!.data
    const bytes = transfers * size
    return {
      name,
      size,
      sent: echo ? count * 2 : count,
      transfers,
      bytes,
      seconds: ms / 1000,
      gbitPerSec: (bytes * 8) / (ms * 1e6),
      usecPerTransfer: transfers === 0 ? 0 : (ms * 1000) / transfers,
    }
  }

  #send(op: Op, size: number): void {
    const bytes = this.#out.subarray(0, size)
    emitUdpong({ op, id: this.#id, seqno: this.#seqno, data: 0 }, bytes)
    for (;;) {
      ready(this.#waiter, this.#settings, this.#socket, POLLOUT, false)
      const n = this.#socket.send(bytes, this.#flags)
      if (n === size) break
      if (!isEagain(n)) throw failed('send', this.#socket, n)
      this.#waiter.idle(this.#socket, POLLOUT, 'room to send')
    }
    this.#waiter.progress()
    if (this.#waiter.stopped) throw new EndError('INTERRUPTED', 'interrupted')
  }

  /** Sends until the answer arrives, which is then in `#in`. */
  #ask(op: Op, size: number, againMs: number): void {
    // Only the server's answer shows that it is running: waiting for a server is repeating the request.
    const stallMs = this.#settings.stallMs === 0 ? 0 : Math.max(this.#settings.stallMs, this.#settings.waitMs)
    const start = performance.now()
    for (;;) {
      this.#send(op, size)
      if (this.#answered(againMs)) break
      if (stallMs > 0 && performance.now() - start > stallMs)
        throw new EndError(
          'PEER_SILENT',
          `waited ${stallMs / 1000} s for an answer, and nothing came: is a server running there? (--timeout)`,
        )
    }
    this.#seqno = (this.#seqno + 1) & 255
  }

  #answered(waitMs: number): boolean {
    const until = performance.now() + waitMs
    for (;;) {
      const n = this.#socket.recv(this.#in, MSG_DONTWAIT)
      if (n > 0 && parseUdpong(this.#in, n)?.seqno === this.#seqno) return true
      if (n > 0) continue
      const left = until - performance.now()
      if (left <= 0) return false
      // ECONNREFUSED of the kernel indicates that no process listens yet.
      if (!isEagain(n)) this.#waiter.pause(Math.min(left, 50))
      else this.#socket.poll(POLLIN, Math.min(left, 50))
      if (this.#waiter.stopped) throw new EndError('INTERRUPTED', 'interrupted')
    }
  }
}

function sizeName(size: number): string {
  return sizeText(size).slice(0, 4)
}
