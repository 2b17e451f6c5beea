/**
 * From a host name or address to a connection: the checks, the look-up, and one attempt after another, with the events
 * that `node:net` emits on the way.
 */
import { ADDRCONFIG, type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import {
  getDefaultAutoSelectFamily,
  getDefaultAutoSelectFamilyAttemptTimeout,
  isIP,
  type LookupFunction,
} from 'node:net'
import type { RSocketLike } from '../../rsocket/index.ts'
import { Errno, SOCK_STREAM } from '../../rsocket/names.ts'
import type { Context } from '../../verbs/index.ts'
import { isBlocked } from './accepting.ts'
import { type Attachment, attach, isLive, type LinkedStream, type OnRead } from './attachment.ts'
import {
  addressError,
  badArgument,
  blockedError,
  checkInteger,
  checkPort,
  codedError,
  type SystemError,
} from './errors.ts'
import { openSocket } from './transport.ts'

/** Options of `connect`: those of `net.Socket.connect`, and the device. */
export interface ConnectOptions {
  port: number | string
  host?: string | undefined
  localAddress?: string | undefined
  localPort?: number | undefined
  family?: number | string | undefined
  hints?: number | undefined
  lookup?: LookupFunction | undefined
  noDelay?: boolean | undefined
  keepAlive?: boolean | undefined
  keepAliveInitialDelay?: number | undefined
  autoSelectFamily?: boolean | undefined
  autoSelectFamilyAttemptTimeout?: number | undefined
  /** Device, or its name; without it the environment's VERBENA_DEVICE, else the device that has the address. */
  device?: string | Context | undefined
}

export interface Candidate {
  address: string
  /** Family of the address, 4 or 6. */
  family: number
}

/** Options after validation. */
export interface Target {
  host: string
  port: number
  localAddress: string | undefined
  localPort: number | undefined
  device: string | Context | undefined
  attemptTimeoutMs: number
}

/** Validates options; throws where `net.Socket.connect` would. */
export function checkTarget(options: ConnectOptions): Target {
  const { localAddress, localPort, autoSelectFamily, autoSelectFamilyAttemptTimeout: timeoutMs } = options
  if (localAddress && !isIP(localAddress))
    throw codedError('ERR_INVALID_IP_ADDRESS', `Invalid IP address: ${localAddress}`, TypeError)
  if (localPort && typeof localPort !== 'number') throw badArgument('options.localPort', 'of type number', localPort)
  if (options.lookup != null && typeof options.lookup !== 'function')
    throw badArgument('options.lookup', 'of type function', options.lookup)
  if (autoSelectFamily != null && typeof autoSelectFamily !== 'boolean')
    throw badArgument('options.autoSelectFamily', 'of type boolean', autoSelectFamily)
  if (timeoutMs != null) checkInteger(timeoutMs, 'options.autoSelectFamilyAttemptTimeout', 1)
  return {
    host: options.host || 'localhost',
    port: checkPort(options.port, 'options.port'),
    localAddress: localAddress || undefined,
    localPort: localPort || undefined,
    device: options.device,
    attemptTimeoutMs: Math.max(10, timeoutMs ?? getDefaultAutoSelectFamilyAttemptTimeout()),
  }
}

const families: Readonly<Record<string, number>> = { IPv4: 4, IPv6: 6, '4': 4, '6': 6 }

/**
 * Looks up the addresses of a host, in the order to try them: one, or with `autoSelectFamily` all, families alternating. An IP address is
 * its own. `found` is the result of the look-up, as for the event 'lookup'. Calls back synchronously only if the program's own `lookup`
 * does.
 */
export function lookUp(
  options: ConnectOptions,
  host: string,
  done: (error: Error | null, candidates: Candidate[], found: Candidate[]) => void,
): void {
  const ip = isIP(host)
  if (ip) {
    process.nextTick(done, null, [{ address: host, family: ip }], [])
    return
  }
  const family = families[String(options.family)] ?? 0
  const hints = options.hints || (family === 0 && process.platform !== 'win32' ? ADDRCONFIG : 0)
  const all = family === 0 && !options.localAddress && (options.autoSelectFamily ?? getDefaultAutoSelectFamily())
  // As the program passed it: its own `lookup` may read it.
  const asked = { family: options.family as LookupOptions['family'], hints }
  const query = (all ? { ...asked, all: true } : asked) as LookupOptions
  const lookup = (options.lookup ?? systemLookup) as (
    host: string,
    options: LookupOptions,
    callback: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
  ) => void
  lookup(host, query, (error, found, itsFamily) => {
    if (error) return done(error, [], [])
    const list: Candidate[] = Array.isArray(found) ? found : [{ address: found, family: itsFamily ?? isIP(found) }]
    const bad = list.find((entry) => isIP(entry.address) === 0)
    if (list.length === 0 || (bad && list.length === 1))
      return done(codedError('ERR_INVALID_IP_ADDRESS', `Invalid IP address: ${bad?.address}`, TypeError), [], list)
    done(null, alternate(list.filter((entry) => isIP(entry.address) !== 0)), list)
  })
}

/** Orders candidates: families alternate, beginning with that of the first; no address twice. */
function alternate(list: readonly Candidate[]): Candidate[] {
  const once = list.filter((a, i) => list.findIndex((b) => b.address === a.address) === i)
  const first = once[0]?.family
  const sides = [once.filter((a) => a.family === first), once.filter((a) => a.family !== first)]
  const result: Candidate[] = []
  for (let i = 0; i < Math.max(sides[0]!.length, sides[1]!.length); i++)
    for (const side of sides) if (side[i]) result.push(side[i]!)
  return result
}

export interface AttemptEvents {
  /** Handles the connection; the stream is attached to the link. */
  connected(attached: Attachment): void
  /** Handles the failure of all candidates; the stream has no link. There is one error for each candidate. */
  failed(errors: SystemError[]): void
}

/** Receiver of the events 'connectionAttempt', 'connectionAttemptFailed' and 'connectionAttemptTimeout'. */
export type Report = (event: string, address: string, port: number, family: number, error?: Error) => void

export interface AttemptSettings {
  onread?: OnRead | undefined
  /** Milliseconds that each candidate may take; by default each but the last has `attemptTimeoutMs`. */
  limitMs?: number
  /** Callback in place of an emitted event. */
  report?: Report
}

/** Tries the candidates in turn. The function that it returns gives up, without an event. */
export function connectInTurn(
  stream: LinkedStream,
  target: Target,
  candidates: readonly Candidate[],
  events: AttemptEvents,
  settings: AttemptSettings = {},
): () => void {
  const errors: SystemError[] = []
  const report: Report = settings.report ?? ((event, ...args) => stream.emit(event, ...args))
  let givenUp = false
  const several = candidates.length > 1
  stream.autoSelectFamilyAttemptedAddresses = several ? [] : undefined
  const tryNext = (index: number): void => {
    const candidate = candidates[index]
    if (!candidate) {
      events.failed(errors)
      return
    }
    const { address, family } = candidate
    if (several && isBlocked(stream.blockList, address)) {
      const error = blockedError(address)
      errors.push(error)
      report('connectionAttemptFailed', address, target.port, family, error)
      if (stream.connecting && !stream.destroyed) tryNext(index + 1)
      return
    }
    const last = index === candidates.length - 1
    const timeoutMs = settings.limitMs ?? (last ? 0 : target.attemptTimeoutMs)
    attempt(stream, target, candidate, timeoutMs, settings.onread, report, (error, attached) => {
      if (givenUp) return
      if (!error) {
        if (!stream.destroyed) events.connected(attached!)
        return
      }
      errors.push(error)
      if (stream.connecting && !stream.destroyed) tryNext(index + 1)
    })
  }
  tryNext(0)
  return () => {
    givenUp = true
    const attached = stream._verbena
    if (!attached?.link.connecting) return
    attached.link.close(true)
    stream._verbena = undefined
  }
}

function attempt(
  stream: LinkedStream,
  target: Target,
  { address, family }: Candidate,
  timeoutMs: number,
  onread: OnRead | undefined,
  report: Report,
  done: (error: SystemError | null, attached?: Attachment) => void,
): void {
  const { port } = target
  const later = (error: SystemError): void => process.nextTick(done, error)
  const live = isLive(stream) ? stream._verbena : undefined
  const socket = live?.link.socket ?? openBound(target, family)
  if (socket instanceof Error) {
    later(socket)
    return
  }
  report('connectionAttempt', address, port, family)
  if (live) {
    // The errors of TCP for a socket that is connected, or connecting.
    if (live.link.connecting) later(connectError(-Errno.EALREADY, socket, target, address))
    else process.nextTick(done, null, live)
    return
  }
  if (stream.destroyed || isBlocked(stream.blockList, address)) {
    socket.close()
    if (!stream.destroyed) later(blockedError(address))
    return
  }
  stream.autoSelectFamilyAttemptedAddresses?.push(`${address}:${port}`)
  const attached = attach(stream, socket, onread)
  const { link } = attached
  const give = (error: SystemError, event: string): void => {
    clearTimeout(timer)
    link.close(true)
    if (stream._verbena === attached) stream._verbena = undefined
    report(event, address, port, family, error)
    done(error)
  }
  const onTimeout = (): void => {
    if (!link.closed) give(addressError(-Errno.ETIMEDOUT, 'connect', address, port), 'connectionAttemptTimeout')
  }
  let timer: NodeJS.Timeout | undefined
  link.connect({ address, port }, (errno) => {
    clearTimeout(timer)
    if (stream.destroyed) return
    if (errno < 0) return give(connectError(errno, socket, target, address), 'connectionAttemptFailed')
    attached.rememberPeer({ address, port })
    done(null, attached)
  })
  // Only now, because opening the device for the first socket of a process may be slow. It is unref'd: the link keeps the
  // process alive while it connects, and a destroyed socket must not.
  if (timeoutMs > 0 && !link.closed) timer = setTimeout(onTimeout, timeoutMs).unref()
}

/** Opens a socket for the attempt, bound if the program gave a local address; returns the error if that fails. */
function openBound(target: Target, family: number): RSocketLike | SystemError {
  const { localAddress, localPort, device } = target
  let socket: RSocketLike
  try {
    socket = openSocket(family, SOCK_STREAM, device === undefined ? {} : { device })
  } catch (thrown) {
    return thrown as SystemError
  }
  if (!localAddress && !localPort) return socket
  const from = { address: localAddress ?? (family === 6 ? '::' : '0.0.0.0'), port: localPort ?? 0 }
  const result = socket.bind(from)
  if (result >= 0) return socket
  socket.close()
  return addressError(result, 'bind', from.address, from.port)
}

function connectError(errno: number, socket: RSocketLike, target: Target, address: string): SystemError {
  const error = addressError(errno, 'connect', address, target.port, socket.reason)
  if (target.localAddress && target.localPort) {
    error.message += ` - Local (${target.localAddress}:${target.localPort})`
    error.localAddress = target.localAddress
    error.localPort = target.localPort
  }
  return error
}

/** Returns the error of a socket that connects and is to connect again. */
export function alreadyConnecting(address: string, port: number): SystemError {
  return addressError(-Errno.EALREADY, 'connect', address, port)
}

/** Returns the error with which a socket is destroyed after no candidate answered. */
export function summary(errors: readonly SystemError[]): Error {
  if (errors.length === 1) return errors[0]!
  return Object.assign(new AggregateError(errors), { code: errors[0]?.code })
}
