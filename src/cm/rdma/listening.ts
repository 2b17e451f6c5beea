/** What an id has while it is bound or listens: a port, and a listener on every device that its address stands for. */
import { QpType, VerbsError } from '../../verbs/index.ts'
import { givePort, type Host, listenOnPort, type TakenPort, takePort } from '../../verbs/provider/index.ts'
import { gidOfIp, isMalformed, parseCma, rdmaServiceId, sameBytes } from '../../wire/index.ts'
import type { CmListener, CmMessageOf } from '../ib/index.ts'
import { isAny } from './address.ts'
import type { Agent, ListenerOwner } from './agent.ts'
import type { PortSpace } from './constants.ts'
import { RdmaCmError } from './errors.ts'
import type { MadAddress } from './gsi-port.ts'
import type { IdOptionValues, IdQpType } from './params.ts'
import { randomNumber } from './random.ts'

/** The default backlog, and the most that one may be: Linux's. */
const mostBacklog = 1024

/** The transport service type of a REQ (12.6.5, table 107). */
const serviceTypes: Partial<Record<IdQpType, number>> = { [QpType.RC]: 0, [QpType.UC]: 1 }

type Request = CmMessageOf<'REQ'> | CmMessageOf<'SIDR_REQ'>

/** A port that an id is bound to. */
export class BoundPort {
  readonly #host: Host
  readonly #taken: TakenPort

  /** Ports of a segment are the segment's, those of a network belong to an address. EADDRINUSE. */
  constructor(
    call: string,
    agent: Agent,
    portSpace: PortSpace,
    ip: Uint8Array,
    port: number,
    options: Readonly<IdOptionValues>,
  ) {
    this.#host = agent.context.device.host
    const gid = !agent.ethernet || isAny(ip) ? new Uint8Array(16) : gidOfIp(ip)
    const { reuseAddr: reuse, reusePort } = options
    const group = reusePort === 0 ? 0 : groupOf(reusePort, ip)
    try {
      this.#taken = takePort(this.#host, { portSpace, port, gid, reuse, group }, randomNumber)
    } catch (error) {
      throw inUse(call, error)
    }
  }

  get number(): number {
    return this.#taken.port
  }

  listen(): void {
    listenOnPort(this.#host, this.#taken)
  }

  close(): void {
    givePort(this.#host, this.#taken)
  }
}

export class Listening {
  readonly #listeners: { agent: Agent; listener: CmListener<MadAddress> }[] = []
  readonly #qpType: IdQpType
  /** All zeros: any. */
  readonly #ip: Uint8Array
  readonly #afOnly: boolean

  constructor(
    owner: ListenerOwner,
    agents: readonly Agent[],
    portSpace: PortSpace,
    qpType: IdQpType,
    ip: Uint8Array,
    port: BoundPort,
    backlog: number,
    { afOnly, reusePort }: Readonly<IdOptionValues>,
  ) {
    this.#qpType = qpType
    this.#ip = ip
    this.#afOnly = afOnly
    const serviceId = rdmaServiceId(portSpace, port.number)
    try {
      port.listen()
      for (const agent of agents) {
        const options = {
          backlog: Math.min(backlog || mostBacklog, mostBacklog),
          context: owner,
          matches: (message: Request) => this.#isForThis(message, agent),
        }
        const listener = agent.listen(serviceId, options, reusePort)
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

  /** Whether a request is of the id's type, and for its address. */
  #isForThis(message: Request, agent: Agent): boolean {
    const serviceType = message.type === 'REQ' ? message.transportServiceType : undefined
    if (serviceType !== serviceTypes[this.#qpType]) return false
    const { privateData } = message
    const cma = parseCma(privateData, 0, privateData.length)
    if (isMalformed(cma)) return false
    const ip = this.#ip
    if (!isAny(ip)) return sameBytes(ip, cma.destination)
    return ip.length === cma.destination.length || (ip.length === 16 && !this.#afOnly) || !agent.ethernet
  }

  close(): void {
    for (const { agent, listener } of this.#listeners.splice(0)) agent.closeListener(listener)
  }
}

/** Only ids with the same address share a port, also in a segment, where a port is taken for all addresses. */
function groupOf(reusePort: number, ip: Uint8Array): number {
  return ip.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), reusePort) | 1
}

function inUse(call: string, error: unknown): unknown {
  if (!(error instanceof VerbsError) || error.code !== 'EADDRINUSE') return error
  return new RdmaCmError('EADDRINUSE', call, error.message.replace(/^\w+: | \(EADDRINUSE\)$/g, ''))
}
