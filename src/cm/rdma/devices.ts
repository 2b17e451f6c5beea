/**
 * Selects the device of an address, and the local address from which a path leads to another. The source of a path is the one that the
 * host's routes give it, as for the kernel's own sockets.
 *
 *     roce (the default)   all addresses: those of the host on the device `roce`, each 127.x.y.z on a device of its own
 *     roce:ADDRESS         that address is the source of all packets
 *     several contexts     the first of them that has an address, or leads to one
 *     shm0, shm:NAME, …    every address of this host is the adapter itself; the GID of another adapter of the segment,
 *                          as an IPv6 address, is that one
 */
import { type HostNetwork, hostNetwork } from '../../memory/index.ts'
import { type Context, type GidEntry, VerbsError } from '../../verbs/index.ts'
import { formatIp, gidOfIp, ipOfGid, sameBytes } from '../../wire/index.ts'
import type { CmLimits } from '../ib/index.ts'
import { isAny, isLinkLocal, isLoopback, isMulticast, isOwn, type ParsedAddress } from './address.ts'
import type { Agent } from './agent.ts'
import { acquireAgent, releaseAgent } from './agents.ts'
import { RdmaCmError } from './errors.ts'

/** An address of a device. */
export interface Local {
  readonly agent: Agent
  readonly sgidIndex: number
  readonly gid: Uint8Array
  /** 4 or 16 bytes. */
  readonly ip: Uint8Array
  /** Name of the interface of a link-local address; else empty. */
  readonly zone: string
}

/** A path from here to another address. */
export interface Path extends Local {
  readonly dgid: Uint8Array
  readonly dlid: number
  readonly remoteIp: Uint8Array
  readonly remoteZone: string
}

const allAddresses = 'roce'

export class DeviceSet {
  readonly #device: string | Context | readonly Context[]
  /** Limits of the devices' communication managers, for devices that this set is the first of the thread to use. */
  readonly limits: Partial<CmLimits> | undefined
  readonly #agents = new Map<string | Context, Agent>()

  readonly #onAgent: (agent: Agent) => void
  readonly #network: HostNetwork

  /** `onAgent` is called for every device that is used for the first time. */
  constructor(
    device: string | Context | readonly Context[] | undefined,
    limits: Partial<CmLimits> | undefined,
    onAgent: (agent: Agent) => void,
    network: HostNetwork = hostNetwork,
  ) {
    this.#onAgent = onAgent
    this.#network = network
    this.limits = limits
    this.#device = device ?? (process.env.VERBENA_DEVICE || allAddresses)
  }

  /** The devices, if they are given; undefined for all addresses of this host. */
  get #given(): readonly (string | Context)[] | undefined {
    const device = this.#device
    if (device === allAddresses) return undefined
    return typeof device === 'object' && 'length' in device ? device : [device]
  }

  #agent(device: string | Context): Agent {
    let agent = this.#agents.get(device)
    if (agent === undefined) {
      agent = acquireAgent(device, this.limits)
      this.#agents.set(device, agent)
      this.#onAgent(agent)
    }
    return agent
  }

  /** The agents that are in use now. */
  get agents(): Iterable<Agent> {
    return this.#agents.values()
  }

  get agentCount(): number {
    return this.#agents.size
  }

  /** The one device of this set, if there is only one. */
  get only(): Agent | undefined {
    const given = this.#given
    return given?.length === 1 ? this.#agent(given[0]!) : undefined
  }

  /** The devices that a wildcard stands for. */
  all(): Agent[] {
    const given = this.#given
    if (given !== undefined) return given.map((device) => this.#agent(device))
    const found: Agent[] = []
    let first: unknown
    for (const device of [allAddresses, `${allAddresses}:127.0.0.1`]) {
      try {
        found.push(this.#agent(device))
      } catch (error) {
        // Another process has one of the two: the other still works.
        if (!(error instanceof VerbsError)) throw error
        first ??= error
      }
    }
    if (found.length === 0) throw first
    return found
  }

  /** The device that has this address. EADDRNOTAVAIL if none does; EINVAL for an interface that does not exist, or is missing. */
  local(call: string, address: ParsedAddress): Local {
    const { bytes } = address
    const ifindex = this.#ifindexOf(call, address)
    const given = this.#given
    const agents =
      given !== undefined ? this.all() : [this.#agent(isLoopback(bytes) ? deviceName(bytes) : allAddresses)]
    let found: Local[] = []
    for (let i = 0; i < agents.length && found.length === 0; i++) found = this.#locals(agents[i]!, bytes, ifindex)
    // An address of the host that is on its loopback interface, as those of routers are.
    if (found.length === 0 && given === undefined && agents[0]!.ethernet && ifindex === 0 && isOwn(bytes))
      found = this.#locals(this.#agent(deviceName(bytes)), bytes, 0)
    if (found.length > 1 && isLinkLocal(bytes))
      throw new RdmaCmError(
        'EINVAL',
        call,
        `several interfaces have ${formatIp(bytes)}: write ${found.map((one) => `${formatIp(bytes)}%${one.zone}`).join(' or ')}`,
      )
    const [local] = found
    if (local === undefined)
      throw new RdmaCmError(
        'EADDRNOTAVAIL',
        call,
        `${formatIp(bytes)} is no address of ${agents.map(nameAndAddresses).join(', or of ')}`,
      )
    return local
  }

  /** The path to `to`, from `from` if that is given; the code of an error if there is none. EINVAL for an interface that does not exist. */
  path(call: string, to: ParsedAddress, from: Local | undefined): Path | string {
    const ip = to.bytes
    const fixed = from?.agent ?? this.only
    const given = fixed !== undefined ? [fixed] : this.#given === undefined ? [] : this.all()
    for (const agent of given) {
      if (agent.ethernet) continue
      const path = isMulticast(ip) ? groupInSegment(agent, ip, from) : inSegment(agent, ip, from)
      if (path !== undefined) return path
    }
    if (given.length > 0 && given.every(({ ethernet }) => !ethernet)) return 'ENODEV'
    const group = isMulticast(ip)
    let ifindex = this.#ifindexOf(call, to)
    const only = from ?? (fixed === undefined ? undefined : onlyAddress(fixed))
    // Packets to a group leave by the interface of the address that was chosen, whatever the routes are, as with IP_MULTICAST_IF.
    if (only !== undefined && group) return { ...only, dgid: gidOfIp(ip), dlid: 0, remoteIp: ip, remoteZone: '' }
    if (only !== undefined && only.ip.length !== ip.length) return 'ENODEV'
    if (ifindex === 0 && only !== undefined && isLinkLocal(ip)) ifindex = this.#network.interfaceIndex(only.zone)
    const route = this.#network.route(ip, { source: only?.ip, ifindex })
    if (typeof route === 'string') return route
    if (route.kind === 'broadcast' || route.kind === 'none') return 'ENETUNREACH'
    const source = only ?? this.#source(fixed, route.source, route.ifindex, ip)
    if (source === undefined) return 'EADDRNOTAVAIL'
    const remoteZone = isLinkLocal(ip) ? (this.#network.interfaceName(route.ifindex) ?? to.zone) : ''
    return { ...source, dgid: gidOfIp(ip), dlid: 0, remoteIp: ip, remoteZone }
  }

  /** The interface that an address names; 0 if it names none, or is not of one link. */
  #ifindexOf(call: string, { bytes, zone }: ParsedAddress): number {
    const ofLink = isLinkLocal(bytes) || (bytes.length === 16 && bytes[0] === 0xff && (bytes[1]! & 15) <= 2)
    if (zone === '' || !ofLink) return 0
    const ifindex = this.#network.interfaceIndex(zone)
    if (ifindex === 0)
      throw new RdmaCmError('EINVAL', call, `${formatIp(bytes)}%${zone}: there is no interface ${zone}`)
    return ifindex
  }

  /** The entries of a device that have an address, on this interface if it is not 0. */
  #locals(agent: Agent, ip: Uint8Array, ifindex: number): Local[] {
    const table = agent.context.queryGidTable()
    const gid = gidOfIp(ip)
    const found = table.filter(
      (entry) => sameBytes(entry.gid, gid) && (ifindex === 0 || entry.ndevIfindex === ifindex || !agent.ethernet),
    )
    if (found.length > 0) return found.map((entry) => this.#localOf(agent, entry))
    if (agent.ethernet || !isOwn(ip)) return []
    return [{ agent, sgidIndex: 0, gid: table[0]!.gid, ip, zone: '' }]
  }

  #localOf(agent: Agent, { gid, gidIndex, ndevIfindex }: GidEntry): Local {
    const ip = ipOfGid(gid)
    const zone = agent.ethernet && isLinkLocal(ip) ? (this.#network.interfaceName(ndevIfindex) ?? '') : ''
    return { agent, sgidIndex: gidIndex, gid, ip, zone }
  }

  /** The address that the kernel has chosen as source, on a device that has it; `fixed` is the only device that may have it. */
  #source(fixed: Agent | undefined, ip: Uint8Array | null, ifindex: number, to: Uint8Array): Local | undefined {
    if (ip === null) return undefined
    const link = isLinkLocal(ip) ? ifindex : 0
    if (fixed !== undefined) return this.#locals(fixed, ip, link)[0]
    for (const agent of this.#agents.values()) {
      const [known] = agent.ethernet ? this.#locals(agent, ip, link) : []
      if (known !== undefined) return known
    }
    if (this.#given !== undefined) return undefined
    const names = isLoopback(ip) ? [deviceName(ip)] : [allAddresses, deviceName(ip, this.#network.interfaceName(link))]
    try {
      for (const name of names) {
        const [found] = this.#locals(this.#agent(name), ip, link)
        if (found !== undefined) return found
      }
      return undefined
    } catch (error) {
      // Another process may have the device of an address of this host for itself.
      const taken = error instanceof VerbsError && error.code === 'EADDRINUSE'
      if (!taken || !isOwn(to) || to.length !== 4) throw error
    }
    return onlyAddress(this.#spare())
  }

  /** Any loopback address leads to all addresses of this host. */
  #spare(): Agent {
    let last: unknown
    for (let i = 0; i < 16; i++) {
      try {
        return this.#agent(`${allAddresses}:127.${100 + i}.${(process.pid >> 8) & 255}.${process.pid & 255 || 1}`)
      } catch (error) {
        last = error
      }
    }
    throw last
  }

  /** An agent that an id brings from another set. */
  use(agent: Agent): void {
    for (const one of this.#agents.values()) if (one === agent) return
    this.#agents.set(agent.context, agent.acquire())
    this.#onAgent(agent)
  }

  /** Device, or contexts, for which the `EventChannel` was made. */
  get device(): string | Context | readonly Context[] {
    return this.#device
  }

  close(): void {
    for (const agent of this.#agents.values()) releaseAgent(agent)
    this.#agents.clear()
  }
}

function deviceName(ip: Uint8Array, zone?: string): string {
  return `${allAddresses}:${formatIp(ip)}${zone === undefined ? '' : `%${zone}`}`
}

/** Returns the address of an adapter that has one address. */
function onlyAddress(agent: Agent): Local | undefined {
  const [entry, ...more] = agent.context.queryGidTable()
  if (entry === undefined || more.length > 0) return undefined
  const { gid, gidIndex } = entry
  const zone = agent.name.includes('%') ? agent.name.slice(agent.name.indexOf('%') + 1) : ''
  return { agent, sgidIndex: gidIndex, gid, ip: ipOfGid(gid), zone }
}

/** The interface of an address of a device on a network, by name; empty if it has none. */
export function zoneOf(agent: Agent, sgidIndex: number): string {
  if (!agent.ethernet) return ''
  const entry = agent.context.queryGidTable().find(({ gidIndex }) => gidIndex === sgidIndex)
  return (entry && hostNetwork.interfaceName(entry.ndevIfindex)) ?? ''
}

function nameAndAddresses({ name, ethernet, context }: Agent): string {
  if (!ethernet) return `${name} and none of this host`
  const addresses = context.queryGidTable().map(({ gid }) => formatIp(ipOfGid(gid)))
  return `${name}, which has ${addresses.join(', ')}`
}

/** To a multicast group of a segment, whose GID is its IP address. */
function groupInSegment(agent: Agent, group: Uint8Array, from: Local | undefined): Path {
  const gid = agent.context.queryGid(1, 0)
  const any = { agent, sgidIndex: 0, gid, ip: group.length === 4 ? new Uint8Array(4) : gid, zone: '' }
  return { ...(from ?? any), dgid: gidOfIp(group), dlid: 0, remoteIp: group, remoteZone: '' }
}

/** In a segment: to this adapter by any address of the host, to another by its GID. */
function inSegment(agent: Agent, to: Uint8Array, from: Local | undefined): Path | undefined {
  const own = agent.context.queryGid(1, 0)
  const gid = gidOfIp(to)
  const here = { agent, sgidIndex: 0, gid: own, zone: '', dlid: 0, remoteIp: to, remoteZone: '' }
  if (!sameBytes(gid, own) && to.length === 16 && agent.context.device.route({ grh: { dgid: gid } }) >= 0) {
    const ip = from !== undefined && from.ip.length === 16 ? from.ip : own
    return { ...here, ip, dgid: gid }
  }
  if (!sameBytes(gid, own) && !isOwn(to)) return undefined
  const ip = from !== undefined && from.ip.length === to.length && !isAny(from.ip) ? from.ip : to
  return { ...here, ip, dgid: own }
}
