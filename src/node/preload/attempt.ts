/**
 * One `connect` of a program's socket after its addresses are known: RDMA first, and TCP beside it if RDMA has not been answered after a
 * while, so that a program that gives up after a second reaches a peer that has no RDMA.
 *
 *     RDMA alone ──no answer for headStartMs──▶ RDMA and TCP ──the first that connects──▶ connected
 *         └────────refused, no device─────────▶ TCP alone ──────────────────────────────▶ connected, or 'error'
 *
 * A server sees only one of them. TCP is not begun if RDMA is answered in time. If it is begun, RDMA's request is withdrawn before the
 * server has accepted it; a TCP connection is closed before a byte of it was sent, and before it is established unless both are at the
 * same moment.
 */
import { type Attachment, announceConnected } from '../base/attachment.ts'
import {
  type Candidate,
  type ConnectOptions,
  connectInTurn,
  type Report,
  summary,
  type Target,
} from '../base/connecting.ts'
import type { SystemError } from '../base/errors.ts'
import { type FallbackReason, reportFallback } from './fallback.ts'
import { UndecidedHandle } from './handle.ts'
import { inWords, log, printOnce, where } from './log.ts'
import { giveHandle, keepAliveOf, type Method, type NodeSocket, onReadOf } from './node-net.ts'
import type { Peers } from './peers.ts'
import type { Rule } from './rules.ts'
import { showFigures } from './sockets.ts'
import { TcpBeside } from './tcp-beside.ts'
import { attempts, type Undecided } from './undecided.ts'

/** Maximum time that RDMA may go on after TCP has begun, if TCP fails. */
const beyondTcpMs = 2000
/** Minimum time after which giving up counts as silence of the peer: a program that gives up earlier shows nothing about the peer. */
const patienceMs = 100
/** Number of slices in which the head start of RDMA is counted, so that computing of this thread consumes at most one of them. */
const slices = 5

export interface Plan {
  options: ConnectOptions
  target: Target
  rule: Rule
  overRdma: readonly Candidate[]
  /** Candidates for TCP; empty if TCP is not allowed. */
  overTcp: readonly Candidate[]
  /** Time for which RDMA is tried alone. */
  headStartMs: number
}

export class Attempt implements Undecided {
  readonly #socket: NodeSocket
  readonly #peers: Peers
  /** Node's own `connect`. */
  readonly #connect: Method
  #plan: Plan | undefined
  #startedAt = 0
  #ticks: NodeJS.Timeout | undefined
  #cancelRdma: (() => void) | undefined
  /** Address that RDMA is tried to. */
  #trying: string | undefined
  #rdmaFailed = false
  #tcp: TcpBeside | undefined
  #tcpError: Error | undefined
  #over = false
  #referenced = true
  /** Addresses whose 'connectionAttempt' has been emitted. */
  readonly #reported = new Set<string>()
  /** Events of the failure of TCP, to be emitted if RDMA fails, too. */
  readonly #held: (() => void)[] = []

  constructor(socket: NodeSocket, peers: Peers, connect: Method) {
    this.#socket = socket
    this.#peers = peers
    this.#connect = connect
    attempts.set(socket, this)
  }

  /** Leaves the socket to Node's own `connect`. */
  leave(): void {
    this.#stop()
    attempts.delete(this.#socket)
    if (this.#socket._handle instanceof UndecidedHandle) this.#socket._handle = null
  }

  fail(error: Error): void {
    this.#stop()
    // This calls `abandon`.
    this.#socket.destroy(error)
  }

  run(plan: Plan): void {
    this.#plan = plan
    const socket = this.#socket
    const { target, overRdma, overTcp, headStartMs } = plan
    const limit = overTcp.length > 0 ? { limitMs: headStartMs + beyondTcpMs } : {}
    this.#cancelRdma = connectInTurn(
      socket,
      target,
      overRdma,
      { connected: (attached) => this.#rdmaConnected(attached), failed: (errors) => this.#rdmaHasFailed(errors) },
      { onread: onReadOf(socket), report: this.#overRdma, ...limit },
    )
    if (this.#over) return
    // Opening the device for the first socket of a process may be slow; the timeouts of the program and of this attempt begin now.
    socket._unrefTimer()
    this.#startedAt = performance.now()
    if (overTcp.length === 0) return
    let left = slices
    // The timer is unref'd: the connecting socket keeps the process alive, and a destroyed one must not.
    this.#ticks = setInterval(() => {
      if (--left === 0) this.#tryTcp()
    }, headStartMs / slices).unref()
  }

  get #where(): string {
    const { host, port } = this.#plan!.target
    return where(host, port)
  }

  get #elapsedMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }

  /** Emits an event; to the program each address is attempted once. */
  readonly #tells: Report = (event, address, port, family, error) => {
    if (event === 'connectionAttempt') {
      if (this.#reported.has(address)) return
      this.#reported.add(address)
    }
    this.#socket.emit(event, address, port, family, ...(error ? [error] : []))
  }

  /** Reports an event over RDMA; a failed address is not reported if TCP may follow. */
  readonly #overRdma: Report = (event, address, ...rest) => {
    if (event === 'connectionAttempt') this.#trying = address
    else if (this.#plan!.overTcp.some((candidate) => candidate.address === address)) return
    this.#tells(event, address, ...rest)
  }

  /** Reports an event over TCP; failures are held back while RDMA is tried. */
  readonly #overTcp: Report = (event, ...rest) => {
    if (event === 'connectionAttempt' || this.#rdmaFailed) this.#tells(event, ...rest)
    else this.#held.push(() => this.#tells(event, ...rest))
  }

  // --- RDMA --------------------------------------------------------------------------------------------------------

  #rdmaConnected(attached: Attachment): void {
    const { rule } = this.#plan!
    this.leave()
    this.#tcp?.discard()
    log(() => `connect ${this.#where}: RDMA (${rule.text})`)
    const socket = this.#socket
    showFigures(socket)
    const { address } = attached.remote
    if (address !== undefined) this.#peers.answered(address, performance.now())
    const { enable, delaySeconds } = keepAliveOf(socket)
    attached.link.setKeepAlive(enable, delaySeconds)
    announceConnected(socket)
  }

  #rdmaHasFailed(errors: readonly SystemError[]): void {
    this.#rdmaFailed = true
    this.#remember(errors)
    for (const tell of this.#held.splice(0)) tell()
    if (this.#over) return
    const { rule, overTcp } = this.#plan!
    const why = inWords(errors.at(-1))
    if (overTcp.length === 0) {
      log(() => `connect ${this.#where}: ${why}, and no TCP (${rule.text})`)
      this.fail(summary(errors))
    } else if (this.#tcpError !== undefined) this.fail(this.#tcpError)
    else {
      log(() => `connect ${this.#where}: TCP, because ${why} (${rule.text})`)
      this.#reportFallback('failed', why)
      this.#tryTcp()
    }
  }

  /** Records silent peers. Local errors, of a local port or of memory for example, do not show that the peer is silent. */
  #remember(errors: readonly SystemError[]): void {
    for (const { code, syscall, address } of errors)
      if (address !== undefined && syscall === 'connect' && (code === 'ETIMEDOUT' || code === 'EHOSTUNREACH'))
        this.#peers.silent(address, this.#startedAt, performance.now())
    const own = errors.find(({ address, code }) => address === undefined && code !== 'ERR_IP_BLOCKED')
    if (own) printOnce(`RDMA cannot be used: ${inWords(own)}`)
  }

  #noteSilence(): void {
    if (this.#trying !== undefined) this.#peers.silent(this.#trying, this.#startedAt, performance.now())
  }

  #reportFallback(reason: FallbackReason, text: string): void {
    const { target, rule } = this.#plan!
    reportFallback(target.host, target.port, rule, reason, text)
  }

  // --- TCP ---------------------------------------------------------------------------------------------------------

  #tryTcp(): void {
    clearInterval(this.#ticks)
    if (this.#tcp !== undefined || this.#over) return
    const { options, overTcp } = this.#plan!
    const tcp = new TcpBeside(this.#socket, this.#connect, options, overTcp, {
      report: this.#overTcp,
      connected: (handle) => this.#tcpConnected(handle),
      failed: (error) => {
        this.#tcpError = error
        if (this.#rdmaFailed) this.fail(error)
      },
    })
    this.#tcp = tcp
    if (!this.#referenced) tcp.unref()
  }

  #tcpConnected(handle: object): void {
    const { rule } = this.#plan!
    if (!this.#rdmaFailed) {
      this.#noteSilence()
      const why = `nothing answered over RDMA in ${this.#elapsedMs} ms`
      log(() => `connect ${this.#where}: TCP, because ${why} (${rule.text})`)
      this.#reportFallback('silent', why)
      this.#cancelRdma!()
    }
    this.leave()
    giveHandle(this.#socket, handle)
    announceConnected(this.#socket)
  }

  // --- the socket --------------------------------------------------------------------------------------------------

  ref(): void {
    this.#referenced = true
    this.#tcp?.ref()
  }

  unref(): void {
    this.#referenced = false
    this.#tcp?.unref()
  }

  /** Ends the attempt of a socket that is destroyed. */
  abandon(): void {
    if (!this.#over && this.#plan !== undefined && !this.#rdmaFailed && this.#elapsedMs >= patienceMs) {
      this.#noteSilence()
      log(
        () =>
          `connect ${this.#where}: given up after ${this.#elapsedMs} ms without an answer (${this.#plan!.rule.text})`,
      )
    }
    this.leave()
    this.#cancelRdma?.()
    this.#tcp?.discard()
  }

  #stop(): void {
    this.#over = true
    clearInterval(this.#ticks)
  }
}
