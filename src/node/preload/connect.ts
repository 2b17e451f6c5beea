/**
 * `Socket.prototype.connect` under the preload. The decision needs addresses, so a name is looked up here; where it falls
 * to TCP, Node's own `connect` goes on with what was found.
 *
 *     undecided ──look up──▶ TCP ───────────────────────────▶ Node's connect
 *                     └────▶ RDMA ──connected──▶ attached
 *                              └──refused, silent──▶ Node's connect, if the rule allows, else 'error'
 */
import { channel } from 'node:diagnostics_channel'
import net from 'node:net'
import { isBlocked } from '../base/accepting.ts'
import { announceConnected, isLive } from '../base/attachment.ts'
import { type Candidate, type ConnectOptions, checkTarget, connectInTurn, lookUp, summary } from '../base/connecting.ts'
import type { SystemError } from '../base/errors.ts'
import { decide, mayUseRdma } from './decide.ts'
import { inWords, log, sayOnce, where } from './log.ts'
import { keepAliveOf, type Method, type NodeSocket, normalizeArguments, onReadOf, socketMethods } from './node-net.ts'
import type { Rule } from './rules.ts'
import type { Settings } from './settings.ts'
import { hideFigures, showFigures } from './sockets.ts'

/** How long a peer that did not answer over RDMA is left alone. */
const silenceMs = 30_000
/** How many times as long a peer may take that has answered before. */
const patience = 10

const socketChannel = channel('net.client.socket')

interface Choice extends Candidate {
  rule: Rule | undefined
}

export class Connector {
  readonly #settings: Settings
  readonly #original: Method
  /** In some versions of Node `connect` tells the channel, in others (20) what calls it. */
  readonly #publishes: boolean
  /** Addresses that did not answer, and until when they are left alone (milliseconds of `performance.now`). */
  readonly #silent = new Map<string, number>()
  /** Addresses that have answered: they get more time. */
  readonly #known = new Set<string>()

  constructor(settings: Settings, original: Method) {
    this.#settings = settings
    this.#original = original
    this.#publishes = String(original).includes('netClientSocketChannel')
  }

  /** Whether a connection of these options could go over RDMA. */
  concerns(options: Record<string, unknown>): boolean {
    const { port, path, host } = options
    if (path || port === undefined || port === null) return false
    if (!mayUseRdma(this.#settings.rules, 'connect', Number(port))) return false
    const address = (host as string) || 'localhost'
    return net.isIP(address) === 0 || this.#ruleOf(address, Number(port)) !== undefined
  }

  /** The rule that sends it over RDMA now. */
  #ruleOf(address: string, port: number): Rule | undefined {
    const rule = decide(this.#settings.rules, 'connect', address, port)
    if (!rule || rule.transport === 'tcp') return undefined
    const silentUntil = this.#silent.get(address)
    if (silentUntil !== undefined && rule.transport === 'rdma') {
      if (performance.now() < silentUntil) return undefined
      this.#silent.delete(address)
    }
    return rule
  }

  /** The same for a socket, which may be forbidden to go there: Node says so, where it is asked at all. */
  #ruleFor(socket: NodeSocket, address: string, port: number): Rule | undefined {
    const rule = this.#ruleOf(address, port)
    return rule?.transport === 'rdma' && isBlocked(socket.blockList, address) ? undefined : rule
  }

  connect(socket: NodeSocket, args: unknown[]): NodeSocket {
    const first = args[0]
    const normalized = Array.isArray(first)
      ? (first as ReturnType<typeof normalizeArguments>)
      : normalizeArguments(args)
    const [given, listener] = normalized
    // A socket that has a handle is one of TLS, or was given one.
    if (socket._handle || !this.concerns(given)) return this.#plain(socket, normalized)
    const options = given as unknown as ConnectOptions
    let target: ReturnType<typeof checkTarget>
    try {
      target = checkTarget(options)
    } catch {
      // Node reports what is wrong in its own words.
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
    if (!isLive(socket)) {
      socket._verbena = undefined
      hideFigures(socket)
    }
    socket.connecting = true
    socket._unrefTimer()
    if (net.isIP(target.host) === 0) socket._host = target.host
    lookUp(options, target.host, (error, candidates, found) => {
      if (!socket.connecting || socket.destroyed) return
      if (error) {
        if (found.length === 0) socket.emit('lookup', error, undefined, undefined, target.host)
        else tell(socket, found, target.host)
        process.nextTick(() => socket.destroy(error))
        return
      }
      const choices = candidates.map((candidate) => ({
        ...candidate,
        rule: this.#ruleFor(socket, candidate.address, target.port),
      }))
      this.#tryRdma(socket, options, target, choices, found)
    })
    return socket
  }

  #plain(socket: NodeSocket, normalized: unknown): NodeSocket {
    return (this.#original as (...args: unknown[]) => NodeSocket).call(socket, normalized)
  }

  #tryRdma(
    socket: NodeSocket,
    options: ConnectOptions,
    target: ReturnType<typeof checkTarget>,
    choices: readonly Choice[],
    found: readonly Candidate[],
  ): void {
    const chosen = choices.filter((choice) => choice.rule)
    const rule = chosen[0]?.rule
    if (!rule) {
      // Node emits 'lookup' itself.
      this.#fallBack(socket, options, found.length > 0 ? found : choices, true)
      return
    }
    tell(socket, found, target.host)
    if (!socket.connecting) return
    const rest = choices.filter((choice) => choice.rule?.transport !== 'rdma-only')
    const timeoutMs =
      (rule.timeoutMs ?? this.#settings.timeoutMs) * (this.#known.has(chosen[0]!.address) ? patience : 1)
    const limit = rest.length > 0 ? { limitMs: timeoutMs } : {}
    connectInTurn(
      socket,
      { ...target, device: target.device ?? rule.device },
      chosen,
      {
        connected: (attached) => {
          log(() => `connect ${where(target.host, target.port)}: RDMA (${rule.text})`)
          showFigures(socket)
          if (attached.remote.address) this.#known.add(attached.remote.address)
          const { enable, delaySeconds } = keepAliveOf(socket)
          attached.link.setKeepAlive(enable, delaySeconds)
          announceConnected(socket)
        },
        failed: (errors) => {
          this.#remember(errors)
          if (rest.length === 0) {
            log(
              () => `connect ${where(target.host, target.port)}: ${inWords(errors.at(-1))}, and no TCP (${rule.text})`,
            )
            socket.destroy(summary(errors))
            return
          }
          log(() => `connect ${where(target.host, target.port)}: TCP, because ${inWords(errors.at(-1))} (${rule.text})`)
          this.#fallBack(socket, options, rest, false)
        },
      },
      { onread: onReadOf(socket), ...limit },
    )
  }

  #remember(errors: readonly SystemError[]): void {
    for (const error of errors)
      if (error.code === 'ERR_IP_BLOCKED' || error.code === 'EALREADY') continue
      else if (error.address && error.code !== 'ECONNREFUSED')
        this.#silent.set(error.address, performance.now() + silenceMs)
      else if (!error.address) sayOnce(`RDMA cannot be used: ${inWords(error)}`)
  }

  /** Node's own `connect`, to the addresses that are known already; `tells`: 'lookup' has not been emitted yet. */
  #fallBack(socket: NodeSocket, options: ConnectOptions, choices: readonly Candidate[], tells: boolean): void {
    const lookup: net.LookupFunction = (_host, query, done) => {
      const answer = (): void => {
        if (query.all) done(null, [...choices])
        else done(null, choices[0]!.address, choices[0]!.family)
      }
      if (tells) answer()
      else without(socket, 'lookup', answer)
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

function tell(socket: NodeSocket, found: readonly Candidate[], host: string): void {
  for (const { address, family } of found) {
    socket.emit('lookup', null, address, family, host)
    if (!socket.connecting) return
  }
}

/** `work` while the object has this property of its own. */
function withOwn(object: object, name: string, value: unknown, work: () => void): void {
  const before = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: false })
  try {
    work()
  } finally {
    if (before) Object.defineProperty(object, name, before)
    else delete (object as Record<string, unknown>)[name]
  }
}

/** `work` while the socket keeps an event to itself. */
function without(socket: NodeSocket, event: string, work: () => void): void {
  const { emit } = socket
  const most = (name: string | symbol, ...args: unknown[]): boolean =>
    name !== event && emit.call(socket, name, ...args)
  withOwn(socket, 'emit', most, work)
}
