/**
 * The addresses of an id: its own, with the port that it has and the device that it belongs to, and the peer's, with the
 * path that leads there.
 */
import { formatIp, sameBytes } from '../../wire/index.ts'
import {
  type CmAddress,
  type CmSocketAddress,
  isAny,
  isLinkLocal,
  isMulticast,
  type ParsedAddress,
  parseAddress,
  socketAddress,
} from './address.ts'
import type { Agent } from './agent.ts'
import type { PortSpace } from './constants.ts'
import type { DeviceSet, Local, Path } from './devices.ts'
import { RdmaCmError } from './errors.ts'
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
  #zone = ''
  /** Port number of the listening id, for an id that came with a request. */
  #portNumber = 0

  constructor(portSpace: PortSpace, options: Readonly<IdOptionValues>) {
    this.#portSpace = portSpace
    this.#options = options
  }

  get own(): CmSocketAddress {
    return socketAddress(this.ip, this.port?.number ?? this.#portNumber, this.#zone)
  }

  /** Index of the source GID in the device's table. */
  get sgidIndex(): number {
    return this.path?.sgidIndex ?? this.#local?.sgidIndex ?? 0
  }

  /** Text for a rejection because of a missing listener, with a hint if an address may mean another adapter than expected. */
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
    this.#takePort(call, agent === undefined ? devices.all() : [agent], parsed.bytes, parsed.port)
    this.#local = local
    this.#zone = local?.zone ?? ''
    this.ip = parsed.bytes
    this.agent = agent
  }

  #takePort(call: string, agents: readonly Agent[], ip: Uint8Array, port: number): void {
    this.port = new BoundPort(call, agents, this.#portSpace, ip, port, this.#options)
  }

  /**
   * Finds the path to `to` and binds the id if it is not bound; the code of an error if no path leads there. EINVAL if the id is
   * bound to an address of the other family, or there is no such interface.
   */
  resolve(devices: DeviceSet, to: ParsedAddress): string | undefined {
    // As with sockets, all zeros as a destination is this host.
    const bytes = isAny(to.bytes) ? (to.bytes.length === 4 ? loopback4 : loopback6) : to.bytes
    this.#checkFamily(bytes)
    const path = devices.path('resolveAddr', { ...to, bytes }, this.#local)
    this.peer = socketAddress(bytes, to.port, typeof path === 'string' ? to.zone : path.remoteZone)
    if (typeof path === 'string') return path
    if (this.port === undefined) this.#takePort('resolveAddr', [path.agent], path.ip, 0)
    this.path = path
    this.agent = path.agent
    this.ip = path.ip
    this.#zone = path.zone
    return undefined
  }

  /** `::` that is not for IPv6 alone goes to both families, and so does a group, whose address is a GID first of all. */
  #checkFamily(to: Uint8Array): void {
    const { ip } = this
    if (this.port === undefined || ip.length === to.length || isMulticast(to)) return
    if (ip.length === 16 && isAny(ip) && !this.#options.afOnly) return
    throw new RdmaCmError(
      'EINVAL',
      'resolveAddr',
      `the id is bound to ${formatIp(ip)}, from which no path leads to ${formatIp(to)}: source and destination are of one family`,
    )
  }

  /** Sets the addresses of an id that came with a request. */
  requested(agent: Agent, ip: Uint8Array, portNumber: number, peer: CmSocketAddress, zone: string): void {
    this.#zone = isLinkLocal(ip) ? zone : ''
    this.agent = agent
    this.ip = ip
    this.#portNumber = portNumber
    this.peer = peer
  }
}
