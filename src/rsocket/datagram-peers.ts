/** The addresses that a datagram socket talks with, and its queue pairs: one for each own address that leads to some. */
import { PortSpace } from '../cm/index.ts'
import type { AddressHandle } from '../verbs/index.ts'
import { Errno } from './constants.ts'
import { addressBytes } from './datagram-headers.ts'
import { DatagramQp } from './datagram-qp.ts'
import { errnoOf } from './errors.ts'
import type { Hub } from './hub.ts'
import type { Member } from './loop.ts'
import type { SocketAddress } from './types.ts'

export interface Peer {
  address: string
  bytes: Uint8Array
  port: number
  qp: DatagramQp
  /** The way to its queue pair, when that is known. */
  handle: AddressHandle | undefined
  qpn: number
  /** When something came from there, and when it was asked for its queue pair. */
  heardMs: number
  askedMs: number
  foreign: boolean
}

/** What a new queue pair needs of its socket. */
export interface PeerSource {
  hub: Hub
  own: SocketAddress
  /** Places of each queue. */
  slots: number
  member: Member
}

type Found = { peer: Peer; isNew: boolean } | { errno: number; text: string }

export class Peers {
  readonly #peers = new Map<string, Peer>()
  readonly #qps = new Map<string, DatagramQp>()

  get qps(): Iterable<DatagramQp> {
    return this.#qps.values()
  }

  known(address: string, port: number): Peer | undefined {
    return this.#peers.get(`${address} ${port}`)
  }

  /** Makes an address known; `isNew`: with a queue pair that was not there. */
  find(address: string, port: number, source: PeerSource): Found {
    const bytes = addressBytes(address)
    if (bytes === undefined) return { errno: Errno.EINVAL, text: `'${address}' is no address` }
    try {
      const before = this.#qps.size
      const qp = this.#qpFor(address, port, source)
      if (qp === undefined) return { errno: Errno.EHOSTUNREACH, text: `no RDMA device leads to ${address}` }
      const peer: Peer = { address, bytes, port, qp, handle: undefined, qpn: 0, heardMs: 0, askedMs: 0, foreign: false }
      this.#peers.set(`${address} ${port}`, peer)
      return { peer, isNew: this.#qps.size > before }
    } catch (error) {
      const { errno, message } = errnoOf(error)
      return { errno, text: message }
    }
  }

  /** The queue pair of the own address from which to reach another. */
  #qpFor(address: string, port: number, { hub, own, slots, member }: PeerSource): DatagramQp | undefined {
    const id = hub.channel.createId(PortSpace.Udp)
    try {
      const any = own.address === '0.0.0.0' || own.address === '::'
      id.resolveAddr(any ? undefined : { address: own.address, port: 0 }, { address, port })
      if (id.verbs === undefined) return undefined
      const local = id.localAddress.address
      let qp = this.#qps.get(local)
      if (qp === undefined) {
        qp = new DatagramQp(id.verbs, addressBytes(local)!, own.port, slots, member)
        this.#qps.set(local, qp)
      }
      return qp
    } finally {
      id.close()
    }
  }
}
