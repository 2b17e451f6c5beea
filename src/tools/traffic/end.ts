/** What the data threads of both ends have: the adapter, its CQs, and links on it. */
import type { CompletionChannel, CompletionQueue, Context, OpenOptions } from '../../index.ts'
import { Idle, Link, type LinkEnd, type LinkHost, type LinkPlan } from '../../traffic/run/index.ts'
import {
  addressVector,
  gidFromHex,
  gidHex,
  isZero,
  type LocalPort,
  localPort,
  openNamed,
  UsageError,
} from '../kit/index.ts'
import type { Address } from './protocol.ts'

export interface EndOptions {
  device?: string
  ibPort: number
  gidIndex: number
}

export class End {
  readonly context: Context
  readonly local: LocalPort
  host: LinkHost | null = null
  channel: CompletionChannel | null = null

  constructor({ device, ibPort, gidIndex }: EndOptions, options: OpenOptions = {}) {
    this.context = openNamed(device, options)
    this.local = localPort(this.context, ibPort, gidIndex, '-x')
  }

  get address(): Address {
    const { activeMtu, lid, gid } = this.local
    return { device: this.context.name, activeMtu, lid, gid: gidHex(gid) }
  }

  /** CQs for so many queue pairs in all, and so many outstanding requests and receives. */
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

  close(): void {
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
