/** Objects that the data threads of both ends share: the adapter, its CQs, and links on it. */
import {
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  type OpenOptions,
  type PathMtu,
  QpType,
} from '../../index.ts'
import { qpTypes, type TrafficQpType } from '../../traffic/index.ts'
import { accessOf, Idle, Link, type LinkEnd, type LinkHost, type LinkPlan } from '../../traffic/run/index.ts'
import {
  addressVector,
  CmEnd,
  type CmPeer,
  gidFromHex,
  gidHex,
  isZero,
  type LocalPort,
  localPort,
  openNamed,
  UsageError,
} from '../kit/index.ts'
import type { Address, CmAddresses } from './protocol.ts'

export interface EndOptions {
  device?: string
  ibPort: number
  gidIndex: number
}

/** Maximum number of outstanding READs and atomics on a queue pair. */
const outs = 16

export class End {
  readonly context: Context
  readonly local: LocalPort
  host: LinkHost | null = null
  channel: CompletionChannel | null = null
  /** RDMA CM ends by type of queue pair; only with `-R`. */
  readonly #cms: Partial<Record<TrafficQpType, CmEnd>> = {}

  constructor({ device, ibPort, gidIndex }: EndOptions, options: OpenOptions = {}) {
    this.context = openNamed(device, options)
    this.local = localPort(this.context, ibPort, gidIndex, '-x')
  }

  get address(): Address {
    const { activeMtu, lid, gid } = this.local
    return { device: this.context.name, activeMtu, lid, gid: gidHex(gid) }
  }

  /** Creates CQs for so many queue pairs in all, and so many outstanding requests and receives. */
  prepare(stride: number, sends: number, receives: number): LinkHost {
    const { context } = this
    const { maxCqe } = context.queryDevice()
    if (sends > maxCqe || receives > maxCqe)
      throw new UsageError(
        'depth',
        `all queue pairs together have ${sends} requests and ${receives} receives, and a CQ of ${context.name} at most ${maxCqe}: use less depth, qps, DSCPs or servers`,
      )
    const channel = context.createCompChannel()
    const cq = (cqe: number): CompletionQueue => context.createCq(cqe, { channel, singleThreaded: true })
    this.channel = channel
    this.host = {
      ...{ context, pd: context.allocPd(), sendCq: cq(sends), recvCq: cq(receives) },
      ...{ port: this.local.port, stride },
    }
    return this.host
  }

  idle(polite: boolean): Idle {
    const { sendCq, recvCq } = this.host!
    return new Idle(this.channel!, [sendCq, recvCq], polite)
  }

  link(plan: LinkPlan, role: 'client' | 'server', first: number): Link {
    return new Link(this.host!, plan, role, first)
  }

  connect(link: Link, remote: Address, end: LinkEnd): void {
    const gid = gidFromHex(remote.gid)!
    if (this.local.ethernet && isZero(gid))
      throw new UsageError('-x', 'the peer sent no GID, and on Ethernet nothing goes without')
    link.connect(end, (serviceLevel, trafficClass) => {
      const path = addressVector(this.local, { lid: remote.lid, gid }, serviceLevel)
      return path.grh === undefined ? path : { ...path, grh: { ...path.grh, trafficClass } }
    })
  }

  /** Listens at the server, with `-R`, for each type of queue pair on a port of its own. */
  listen(link: Link): CmAddresses {
    const addresses: CmAddresses = {}
    for (const type of typesOf(link)) addresses[type] = this.#cm(type).listen(this.local.gidIndex)
    return addresses
  }

  /** Connects as `connect` does, but with `-R` by the RDMA CM; the client passes the server's addresses, the server null. */
  connectByCm(link: Link, end: LinkEnd, server: CmAddresses | null): void {
    const { mtu, timeout: qpTimeout, retries: retryCnt } = link.plan
    link.reach(end)
    const paths = link.paths
    for (const type of typesOf(link)) {
      const own = paths.flatMap((path, i) => (path.qp.type === QpType[type] ? [{ ...path, i }] : []))
      const wishes = (k: number) => {
        const { qp, serviceLevel, trafficClass, rnrRetry } = own[k]!
        const path = { serviceLevel, trafficClass }
        return { mtu: mtu as PathMtu, outs, accessFlags: accessOf(qp), qpTimeout, retryCnt, rnrRetry, path }
      }
      if (type === 'UD') for (const { i } of own) link.openDatagrams(i, { dlid: 0, portNum: this.local.port })
      const qps = own.map(({ qp }) => qp)
      let peers: CmPeer[]
      if (server === null) peers = this.#cm(type).acceptAll(qps, wishes)
      else {
        const address = server[type]
        if (address === undefined) throw new UsageError('-R', `the server does not listen for ${type}`)
        peers = this.#cm(type).connectAll(qps, address, wishes)
      }
      if (type === 'UD') for (const [k, { i }] of own.entries()) link.address(i, peers[k]!.ahAttr, peers[k]!.qpNum)
    }
  }

  #cm(type: TrafficQpType): CmEnd {
    const cm = this.#cms[type] ?? new CmEnd(this.context, QpType[type])
    this.#cms[type] = cm
    return cm
  }

  close(): void {
    for (const cm of Object.values(this.#cms)) cm.close()
    const { host } = this
    if (host !== null) {
      host.sendCq.close()
      host.recvCq.close()
      host.pd.close()
      this.channel!.close()
    }
    this.context.close()
  }
}

/** Returns the types of the queue pairs of a link. The control queue pair is RC. */
function typesOf({ plan }: Link): TrafficQpType[] {
  return qpTypes.filter((type) => type === 'RC' || plan.classes.some((one) => one.type === type))
}
