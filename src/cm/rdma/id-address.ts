/**
 * The addresses of an id: its own, with the port that it has and the device that it belongs to, and the peer's, with the
 * path that leads there.
 */
import { sameBytes } from '../../wire/index.ts'
import {
  type CmAddress,
  type CmSocketAddress,
  isAny,
  type ParsedAddress,
  parseAddress,
  socketAddress,
} from './address.ts'
import type { Agent } from './agent.ts'
import type { PortSpace } from './constants.ts'
import type { DeviceSet, Local, Path } from './devices.ts'
import { BoundPort } from './listening.ts'
import type { IdOptionValues } from './params.ts'

const loopback4 = Uint8Array.of(127, 0, 0, 1)
const loopback6 = new Uint8Array(16).fill(1, 15)

export class IdAddress {
  readonly #portSpace: PortSpace
  readonly #options: Readonly<IdOptionValues>
  /** The own address; all zeros for a wildcard. */
  ip: Uint8Array = new Uint8Array(4)
  /** Undefined until an address has chosen one. */
  agent: Agent | undefined
  port: BoundPort | undefined
  peer: CmSocketAddress | undefined
  path: Path | undefined
  #local: Local | undefined
  /** Of an id that came with a request: the port of the one that listens. */
  #portNumber = 0

  constructor(portSpace: PortSpace, options: Readonly<IdOptionValues>) {
    this.#portSpace = portSpace
    this.#options = options
  }

  get own(): CmSocketAddress {
    return socketAddress(this.ip, this.port?.number ?? this.#portNumber)
  }

  /** Which GID of the device is the source. */
  get sgidIndex(): number {
    return this.path?.sgidIndex ?? this.#local?.sgidIndex ?? 0
  }

  /** What a rejection by a missing listener means, with a hint where an address may mean another adapter than expected. */
  get nobodyListens(): string {
    const { path } = this
    if (path === undefined || path.agent.ethernet || !sameBytes(path.dgid, path.gid)) return 'nobody listens there'
    const { name } = path.agent
    const own = `nobody listens on this adapter, ${name}, to which all addresses of the host lead`
    return `${own}; another one of the segment is reached by its GID, written as an IPv6 address`
  }

  /** EADDRINUSE, EADDRNOTAVAIL. */
  bind(call: string, devices: DeviceSet, address: CmAddress): void {
    const parsed = parseAddress(call, 'address', address)
    const local = isAny(parsed.bytes) ? undefined : devices.local(call, parsed)
    const agent = local?.agent ?? devices.only
    this.#takePort(call, agent ?? devices.all()[0]!, parsed.bytes, parsed.port)
    this.#local = local
    this.ip = parsed.bytes
    this.agent = agent
  }

  #takePort(call: string, agent: Agent, ip: Uint8Array, port: number): void {
    this.port = new BoundPort(call, agent, this.#portSpace, ip, port, this.#options)
  }

  /** Finds the path to `to` and binds the id if it is not bound; false if no device leads there. */
  resolve(devices: DeviceSet, to: ParsedAddress): boolean {
    // As with sockets, all zeros as a destination is this host.
    const bytes = isAny(to.bytes) ? (to.bytes.length === 4 ? loopback4 : loopback6) : to.bytes
    const path = devices.path({ ...to, bytes }, this.#local)
    this.peer = socketAddress(bytes, to.port, to.zone)
    if (path === undefined) return false
    if (this.port === undefined) this.#takePort('resolveAddr', path.agent, path.ip, 0)
    this.path = path
    this.agent = path.agent
    this.ip = path.ip
    return true
  }

  /** Of an id that came with a request: what the request says. */
  requested(agent: Agent, ip: Uint8Array, portNumber: number, peer: CmSocketAddress): void {
    this.agent = agent
    this.ip = ip
    this.#portNumber = portNumber
    this.peer = peer
  }
}
