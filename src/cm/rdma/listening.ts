/** State of an id while it is bound or listens: a port, and a listener on every device that its address stands for. */
import type { MadAddress } from '../../gsi/index.ts'
import { QpType, VerbsError } from '../../verbs/index.ts'
import {
  givePort,
  type Host,
  listenOnPort,
  ServedKind,
  servedBy,
  servedOverlap,
  servesAll,
  servesOne,
  type TakenPort,
  takePort,
} from '../../verbs/provider/index.ts'
import { isMalformed, parseCma, rdmaServiceId, sameBytes } from '../../wire/index.ts'
import type { CmListener, CmMessageOf } from '../ib/index.ts'
import type { Agent, ListenerOwner } from './agent.ts'
import type { PortSpace } from './constants.ts'
import { RdmaCmError } from './errors.ts'
import type { IdOptionValues, IdQpType } from './params.ts'
import { randomNumber } from './random.ts'

/** The default backlog, and the most that one may be: Linux's. */
const mostBacklog = 1024

/** The transport service type of a REQ (12.6.5, table 107). */
const serviceTypes: Partial<Record<IdQpType, number>> = { [QpType.RC]: 0, [QpType.UC]: 1 }

type Request = CmMessageOf<'REQ'> | CmMessageOf<'SIDR_REQ'>

/** Maximum number of attempts: a number that is free on the first device, but not on another, is given up for another number. */
const mostAttempts = 64

/** A port that an id is bound to, on every device that its address stands for. */
export class BoundPort {
  readonly #taken: { host: Host; port: TakenPort }[] = []
  readonly #ip: Uint8Array
  readonly #group: number

  /** EADDRINUSE. */
  constructor(
    call: string,
    agents: readonly Agent[],
    portSpace: PortSpace,
    ip: Uint8Array,
    port: number,
    { afOnly, reuseAddr: reuse, reusePort }: Readonly<IdOptionValues>,
  ) {
    this.#ip = ip
    const served = servedBy(ip, afOnly)
    this.#group = reusePort === 0 ? 0 : groupOf(reusePort, served)
    const hosts = new Set(agents.map((agent) => agent.context.device.host))
    const request = { portSpace, served, reuse, group: this.#group }
    for (let attempts = 1; ; attempts++) {
      try {
        for (const host of hosts) {
          const taken = takePort(host, { ...request, port: port || this.#taken[0]?.port.port || 0 }, randomNumber)
          this.#taken.push({ host, port: taken })
        }
        return
      } catch (error) {
        const another = port === 0 && this.#taken.length > 0 && attempts < mostAttempts
        this.close()
        if (!another) throw inUse(call, error)
      }
    }
  }

  get number(): number {
    return this.#taken[0]!.port.port
  }

  /** Group of listeners of several threads that share the port, 0 for none. */
  get group(): number {
    return this.#group
  }

  /** Listens; returns the addresses that it serves. */
  listen(afOnly: boolean): Int32Array {
    const served = servedBy(this.#ip, afOnly)
    for (const { host, port } of this.#taken) listenOnPort(host, port, served)
    return served
  }

  close(): void {
    for (const { host, port } of this.#taken.splice(0)) givePort(host, port)
  }
}

export class Listening {
  readonly #listeners: { agent: Agent; listener: CmListener<MadAddress> }[] = []
  readonly #qpType: IdQpType
  #served: Int32Array = servesAll

  constructor(
    owner: ListenerOwner,
    agents: readonly Agent[],
    portSpace: PortSpace,
    qpType: IdQpType,
    port: BoundPort,
    backlog: number,
    afOnly: boolean,
  ) {
    this.#qpType = qpType
    const serviceId = rdmaServiceId(portSpace, port.number)
    try {
      const served = port.listen(afOnly)
      this.#served = served
      for (const agent of agents) {
        const options = {
          backlog: Math.min(backlog || mostBacklog, mostBacklog),
          context: owner,
          matches: (message: Request) => this.#isForThis(message, agent),
        }
        const listener = agent.listen(serviceId, options, served, port.group)
        this.#listeners.push({ agent, listener })
      }
    } catch (error) {
      this.close()
      throw inUse('listen', error)
    }
  }

  get agents(): Agent[] {
    return this.#listeners.map(({ agent }) => agent)
  }

  /** True if a request is of the id's type, and for its address. */
  #isForThis(message: Request, agent: Agent): boolean {
    const serviceType = message.type === 'REQ' ? message.transportServiceType : undefined
    if (serviceType !== serviceTypes[this.#qpType]) return false
    const { privateData } = message
    const cma = parseCma(privateData, 0, privateData.length)
    if (isMalformed(cma)) return false
    const served = this.#served
    if (servedOverlap(served, 0, servesOne(cma.destination), 0)) return true
    // The GID of an adapter of a segment is no address of IPv6, although it is written as one: a wildcard of IPv4 has it, too.
    return !agent.ethernet && served[0] === ServedKind.ipv4 && sameBytes(cma.destination, agent.context.queryGid(1, 0))
  }

  close(): void {
    for (const { agent, listener } of this.#listeners.splice(0)) agent.closeListener(listener)
  }
}

/** Only ids for the same addresses share a port. */
function groupOf(reusePort: number, served: Int32Array): number {
  return served.reduce((hash, word) => Math.imul(hash ^ word, 0x01000193), reusePort) | 1
}

function inUse(call: string, error: unknown): unknown {
  if (!(error instanceof VerbsError) || error.code !== 'EADDRINUSE') return error
  return new RdmaCmError('EADDRINUSE', call, error.message.replace(/^\w+: | \(EADDRINUSE\)$/g, ''))
}
