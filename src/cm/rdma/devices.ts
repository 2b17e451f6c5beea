/**
 * Which device an address belongs to, and which of its addresses leads to another.
 *
 *     roce (the default)   all addresses: those of the host on the device `roce`, each 127.x.y.z on a device of its own
 *     roce:ADDRESS         that address is where everything comes from
 *     shm0, shm:NAME, …    every address of this host is the adapter itself; the GID of another adapter of the segment,
 *                          as an IPv6 address, is that one
 */
import { type Context, VerbsError } from '../../verbs/index.ts'
import { formatIp, gidOfIp, ipOfGid, sameBytes } from '../../wire/index.ts'
import type { CmLimits } from '../ib/index.ts'
import { isAny, isLinkLocal, isLoopback, isMulticast, isOwn, type ParsedAddress, sameNetwork } from './address.ts'
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
}

/** A path from here to another address. */
export interface Path extends Local {
  readonly dgid: Uint8Array
  readonly dlid: number
  readonly remoteIp: Uint8Array
}

const allAddresses = 'roce'

export class DeviceSet {
  readonly #device: string | Context
  /** Limits of the devices' communication managers, for devices that this set is the first of the thread to use. */
  readonly limits: Partial<CmLimits> | undefined
  readonly #agents = new Map<string | Context, Agent>()

  readonly #onAgent: (agent: Agent) => void

  /** `onAgent` is called for every device that is used for the first time. */
  constructor(
    device: string | Context | undefined,
    limits: Partial<CmLimits> | undefined,
    onAgent: (agent: Agent) => void,
  ) {
    this.#onAgent = onAgent
    this.limits = limits
    this.#device = device ?? (process.env.VERBENA_DEVICE || allAddresses)
  }

  get #fixed(): boolean {
    return this.#device !== allAddresses
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
    return this.#fixed ? this.#agent(this.#device) : undefined
  }

  /** The devices that a wildcard stands for. */
  all(): Agent[] {
    if (this.#fixed) return [this.#agent(this.#device)]
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

  /** The device that has this address; EADDRNOTAVAIL if none does. */
  local(call: string, address: ParsedAddress): Local {
    const { bytes, zone } = address
    const agent = this.#fixed || !isLoopback(bytes) ? this.#agent(this.#device) : this.#agent(loopbackName(bytes))
    const local = localOf(agent, bytes, zone)
    if (local === undefined)
      throw new RdmaCmError(
        'EADDRNOTAVAIL',
        call,
        `${formatIp(bytes)} is no address of ${agent.name}${agent.ethernet ? `, which has ${addressesOf(agent)}` : ' and none of this host'}`,
      )
    return local
  }

  /** The path to `to`, from `from` if that is given; undefined if there is none. */
  path(to: ParsedAddress, from: Local | undefined): Path | undefined {
    const ip = to.bytes
    const agent = from?.agent ?? this.#agentTo(ip)
    if (isMulticast(ip)) return toGroup(agent, ip, from)
    if (!agent.ethernet) return inSegment(agent, ip, from)
    const source = from ?? sourceFor(agent, ip, to.zone)
    if (source === undefined || source.ip.length !== ip.length) return undefined
    return { ...source, dgid: gidOfIp(ip), dlid: 0, remoteIp: ip }
  }

  /** The device from which to reach an address. Another process may have the device of an address of this host. */
  #agentTo(ip: Uint8Array): Agent {
    if (this.#fixed) return this.#agent(this.#device)
    for (const agent of this.#agents.values()) if (agent.ethernet && localOf(agent, ip, '') !== undefined) return agent
    try {
      return this.#agent(isLoopback(ip) ? loopbackName(ip) : this.#device)
    } catch (error) {
      const taken = error instanceof VerbsError && error.code === 'EADDRINUSE'
      if (!taken || !isOwn(ip) || ip.length !== 4) throw error
    }
    return this.#spare()
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

  /** What `EventChannel` was made for. */
  get device(): string | Context {
    return this.#device
  }

  close(): void {
    for (const agent of this.#agents.values()) releaseAgent(agent)
    this.#agents.clear()
  }
}

function loopbackName(ip: Uint8Array): string {
  return `${allAddresses}:${formatIp(ip)}`
}

function addressesOf(agent: Agent): string {
  return agent.context
    .queryGidTable()
    .map(({ gid }) => formatIp(ipOfGid(gid)))
    .join(', ')
}

function localOf(agent: Agent, ip: Uint8Array, zone: string): Local | undefined {
  const table = agent.context.queryGidTable()
  const gid = gidOfIp(ip)
  const found = table.find((entry) => sameBytes(entry.gid, gid) && inZone(entry.ndevIfindex, zone))
  if (found !== undefined) return { agent, sgidIndex: found.gidIndex, gid: found.gid, ip }
  if (agent.ethernet || !isOwn(ip)) return undefined
  return { agent, sgidIndex: 0, gid: table[0]!.gid, ip }
}

/** Whether an interface is the one of a zone, which is its name or number. */
function inZone(ifindex: number, zone: string): boolean {
  return zone === '' || zone === String(ifindex) || !/^\d+$/.test(zone)
}

/** The address of a device on IP from which to reach another: in the same network, else the first of its family. */
function sourceFor(agent: Agent, to: Uint8Array, zone: string): Local | undefined {
  const candidates = agent.context
    .queryGidTable()
    .map(({ gid, gidIndex, ndevIfindex }) => ({ gid, sgidIndex: gidIndex, ip: ipOfGid(gid), ndevIfindex }))
    .filter(({ ip, ndevIfindex }) => ip.length === to.length && (!isLinkLocal(to) || inZone(ndevIfindex, zone)))
  const best =
    candidates.find(({ ip }) => sameBytes(ip, to)) ??
    candidates.find(({ ip }) => isLinkLocal(ip) === isLinkLocal(to) && sameNetwork(ip, to)) ??
    candidates.find(({ ip }) => isLinkLocal(ip) === isLinkLocal(to)) ??
    candidates[0]
  return best && { agent, sgidIndex: best.sgidIndex, gid: best.gid, ip: best.ip }
}

/** To a multicast group, whose GID is its IP address. */
function toGroup(agent: Agent, group: Uint8Array, from: Local | undefined): Path | undefined {
  const gid = agent.context.queryGid(1, 0)
  const any = { agent, sgidIndex: 0, gid, ip: group.length === 4 ? new Uint8Array(4) : gid }
  const source = from ?? (agent.ethernet ? sourceFor(agent, group, '') : any)
  return source && { ...source, dgid: gidOfIp(group), dlid: 0, remoteIp: group }
}

/** In a segment: to this adapter by any address of the host, to another by its GID. */
function inSegment(agent: Agent, to: Uint8Array, from: Local | undefined): Path | undefined {
  const own = agent.context.queryGid(1, 0)
  const gid = gidOfIp(to)
  if (!sameBytes(gid, own) && to.length === 16 && agent.context.device.route({ grh: { dgid: gid } }) >= 0) {
    const ip = from !== undefined && from.ip.length === 16 ? from.ip : own
    return { agent, sgidIndex: 0, gid: own, ip, dgid: gid, dlid: 0, remoteIp: to }
  }
  if (!sameBytes(gid, own) && !isOwn(to)) return undefined
  const ip = from !== undefined && from.ip.length === to.length && !isAny(from.ip) ? from.ip : to
  return { agent, sgidIndex: 0, gid: own, ip, dgid: own, dlid: 0, remoteIp: to }
}
