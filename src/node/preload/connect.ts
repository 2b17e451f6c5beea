/**
 * `Socket.prototype.connect` under the preload. The decision needs addresses, so a name is looked up here; if TCP is chosen, Node's own
 * `connect` goes on with the addresses found.
 *
 *     undecided ──look up──▶ TCP ─▶ Node's connect
 *                     └────▶ RDMA ─▶ attempt.ts
 */
import { channel } from 'node:diagnostics_channel'
import net from 'node:net'
import { isBlocked } from '../base/accepting.ts'
import { normalizeArguments, readArguments } from '../base/arguments.ts'
import { isLive } from '../base/attachment.ts'
import {
  alreadyConnecting,
  type Candidate,
  type ConnectOptions,
  checkTarget,
  lookUp,
  type Target,
} from '../base/connecting.ts'
import { Attempt } from './attempt.ts'
import { decide, mayConnect } from './decide.ts'
import { reportFallback } from './fallback.ts'
import { UndecidedHandle } from './handle.ts'
import { log, where } from './log.ts'
import { type Method, type NodeSocket, socketMethods, withOwn } from './node-net.ts'
import { Peers } from './peers.ts'
import type { Rule } from './rules.ts'
import type { Settings } from './settings.ts'
import { hideFigures } from './sockets.ts'
import { connectSecure, connectsItself } from './tls.ts'
import { attempts } from './undecided.ts'

/** Factor of the time for which RDMA is tried alone at an address that has answered before. */
const patience = 3

const socketChannel = channel('net.client.socket')

export class Connector {
  readonly #settings: Settings
  readonly #original: Method
  /** True if `connect` publishes to the channel, as in some versions of Node; in others (20) its callers do. */
  readonly #publishes: boolean
  readonly #peers = new Peers()

  constructor(settings: Settings, original: Method) {
    this.#settings = settings
    this.#original = original
    this.#publishes = String(original).includes('netClientSocketChannel')
  }

  /** True if a connection with these options could go over RDMA. */
  concerns(options: Record<string, unknown>): boolean {
    if (!mayConnect(this.#settings.rules, options)) return false
    const address = (options.host as string) || 'localhost'
    return net.isIP(address) === 0 || this.#ruleOf(address, Number(options.port)) !== undefined
  }

  /** Returns the rule that sends the connection over RDMA now. */
  #ruleOf(address: string, port: number): Rule | undefined {
    const rule = decide(this.#settings.rules, 'connect', address, port)
    if (!rule || rule.transport === 'tcp') return undefined
    const silent = rule.transport === 'rdma' && this.#peers.leftAloneFor(address, performance.now()) !== undefined
    return silent ? undefined : rule
  }

  /** Logs a connection that uses TCP because its address did not answer over RDMA recently. */
  #logSilence(host: unknown, port: number, address: string): void {
    const agoMs = this.#peers.leftAloneFor(address, performance.now())
    if (agoMs === undefined) return
    const rule = decide(this.#settings.rules, 'connect', address, port)
    if (rule?.transport !== 'rdma') return
    const ago = `it did not answer over RDMA ${(agoMs / 1000).toFixed(1)} s ago`
    log(() => `connect ${where(String(host), port)}: TCP, because ${ago} (${rule.text})`)
    reportFallback(String(host), port, rule, 'silent-before', ago)
  }

  /** Returns the same for a socket, unless its `blockList` contains the address: Node's own `connect` reports that. */
  #ruleFor(socket: NodeSocket, address: string, port: number): Rule | undefined {
    const rule = this.#ruleOf(address, port)
    return rule?.transport === 'rdma' && isBlocked(socket.blockList, address) ? undefined : rule
  }

  connect(socket: NodeSocket, args: unknown[]): NodeSocket {
    const normalized = readArguments(args)
    const [given, listener] = normalized
    if (connectsItself(socket) && this.concerns(given)) return connectSecure(socket, given, listener)
    // A socket that has a handle of its own is a TLS socket, or was given a handle.
    const itsOwn = socket._handle && !attempts.has(socket) && socket._verbena === undefined
    if (itsOwn || !this.concerns(given)) {
      const host = given.host || 'localhost'
      if (!given.path && net.isIP(host as string)) this.#logSilence(host, Number(given.port), host as string)
      return this.#plain(socket, normalized)
    }
    const options = given as unknown as ConnectOptions
    let target: Target
    try {
      target = checkTarget(options)
    } catch {
      // Node reports the error in its own words.
      return this.#plain(socket, normalized)
    }
    if (this.#publishes && socketChannel.hasSubscribers) socketChannel.publish({ socket })
    if (listener !== null) socket.once('connect', listener)
    const write = socketMethods.write as unknown as NodeSocket['write']
    if (socket.write !== write) socket.write = write
    if (socket.destroyed) {
      socket._undestroy()
      socket._peername = undefined
      socket._sockname = undefined
    }
    const already = attempts.has(socket)
    if (!already && !isLive(socket)) {
      socket._verbena = undefined
      hideFigures(socket)
    }
    socket.connecting = true
    socket._unrefTimer()
    if (net.isIP(target.host) === 0) socket._host = target.host
    if (already) this.#connectAgain(socket, options, target)
    else this.#begin(socket, options, target)
    return socket
  }

  /** Fails a socket that is connecting already. The error comes as late as Node's. */
  #connectAgain(socket: NodeSocket, options: ConnectOptions, target: Target): void {
    lookUp(options, target.host, (error, candidates, found) => {
      const first = candidates[0]
      emitLookups(socket, found, target.host)
      if (!socket.connecting || socket.destroyed) return
      if (first) socket.emit('connectionAttempt', first.address, target.port, first.family)
      if (!socket.connecting || socket.destroyed) return
      socket.destroy(error ?? alreadyConnecting(first!.address, target.port))
    })
  }

  #begin(socket: NodeSocket, options: ConnectOptions, target: Target): void {
    const attempt = new Attempt(socket, this.#peers, this.#original)
    if (!socket._handle) socket._handle = new UndecidedHandle(socket)
    lookUp(options, target.host, (error, candidates, found) => {
      if (!socket.connecting || socket.destroyed) return
      if (error) {
        if (found.length === 0) socket.emit('lookup', error, undefined, undefined, target.host)
        else emitLookups(socket, found, target.host)
        process.nextTick(() => attempt.fail(error))
        return
      }
      const choices = candidates.map((candidate) => ({
        ...candidate,
        rule: this.#ruleFor(socket, candidate.address, target.port),
      }))
      const overRdma = choices.filter((choice) => choice.rule)
      const rule = overRdma[0]?.rule
      if (!rule) {
        attempt.leave()
        for (const { address } of choices) this.#logSilence(target.host, target.port, address)
        this.#leaveToNode(socket, options, found.length > 0 ? found : choices)
        return
      }
      emitLookups(socket, found, target.host)
      if (!socket.connecting) return
      const times = this.#peers.hasAnswered(overRdma[0]!.address) ? patience : 1
      attempt.run({
        options,
        target: { ...target, device: target.device ?? rule.device },
        rule,
        overRdma,
        overTcp: choices.filter((choice) => choice.rule?.transport !== 'rdma-only'),
        headStartMs: (rule.timeoutMs ?? this.#settings.timeoutMs) * times,
      })
    })
  }

  #plain(socket: NodeSocket, normalized: unknown): NodeSocket {
    return (this.#original as (...args: unknown[]) => NodeSocket).call(socket, normalized)
  }

  /** Passes addresses that are known already to Node's own `connect`, which emits 'lookup' itself. */
  #leaveToNode(socket: NodeSocket, options: ConnectOptions, choices: readonly Candidate[]): void {
    const lookup: net.LookupFunction = (_host, query, done) => {
      if (query.all) done(null, [...choices])
      else done(null, choices[0]!.address, choices[0]!.family)
    }
    socket._verbena = undefined
    // Node resets a closed socket when it connects; this one may have been written to and ended since `connect`.
    withOwn(
      socket,
      '_undestroy',
      () => {},
      () =>
        withOwn(socketChannel, 'hasSubscribers', false, () =>
          this.#plain(socket, normalizeArguments([{ ...options, lookup }])),
        ),
    )
  }
}

function emitLookups(socket: NodeSocket, found: readonly Candidate[], host: string): void {
  for (const { address, family } of found) {
    socket.emit('lookup', null, address, family, host)
    if (!socket.connecting) return
  }
}
