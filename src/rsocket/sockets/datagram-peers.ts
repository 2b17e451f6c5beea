/**
 * Addresses with which a datagram socket exchanges datagrams, and its queue pairs: one for each own address that leads to some.
 *
 * Any host can send a datagram, from any address. So an address costs little more than its text until something is sent to it, and the
 * number of addresses has a limit. Beyond it, one that was not used lately is forgotten; when it is needed again, its queue pair is
 * requested again.
 */

import { PortSpace } from '../../cm/index.ts'
import type { AddressHandle } from '../../verbs/index.ts'
import { formatIp, sameBytes } from '../../wire/index.ts'
import { countDrop, Errno } from '../protocol/index.ts'
import { addressBytes, type CmService, type Member, type SocketAddress } from '../runtime/index.ts'
import { DatagramQp } from './datagram-qp.ts'
import { errnoOf } from './errors.ts'

export interface Peer {
  readonly address: string
  readonly bytes: Uint8Array
  readonly port: number
  /** Queue pair of this end that leads there, once something was sent. */
  qp: DatagramQp | undefined
  /** Queue pair of the peer, if it is known: its number, its address, and the path there. */
  qpn: number
  at: Uint8Array
  handle: AddressHandle | undefined
  /** Address and port from which datagrams of the queue pair arrive, if they differ from those of the socket. */
  alias: string | undefined
  /** Time of the last datagram from there, and of the last request for its queue pair. */
  heardMs: number
  askedMs: number
  foreign: boolean
  /** True if it was used since it was last considered for removal. */
  used: boolean
}

/** Properties of its socket that a new queue pair needs. */
export interface PeerSource {
  cm: CmService
  own: SocketAddress
  /** Number of entries of each queue. */
  slots: number
  member: Member
}

type Found = { qp: DatagramQp; isNew: boolean } | { errno: number; text: string }

const nameOf = (address: string, port: number): string => `${address} ${port}`
const isLoopback = (address: Uint8Array): boolean => address.length === 4 && address[0] === 127

export class Peers {
  readonly #peers = new Map<string, Peer>()
  readonly #aliases = new Map<string, Peer>()
  readonly #qps = new Map<string, DatagramQp>()
  /** Queue pair that leads to each address to which something was sent. */
  readonly #ways = new Map<string, DatagramQp>()
  /** Maximum number of addresses that are kept. */
  limit: number
  /** Peer that is never forgotten. */
  pinned: Peer | undefined

  constructor(limit: number) {
    this.limit = limit
  }

  get qps(): Iterable<DatagramQp> {
    return this.#qps.values()
  }

  get count(): number {
    return this.#peers.size
  }

  /** Returns the peer at an address; a new one if it is not known. Undefined if the address is not valid. */
  find(address: string, port: number): Peer | undefined {
    const name = nameOf(address, port)
    const known = this.#peers.get(name)
    if (known !== undefined) return known
    const bytes = addressBytes(address)
    if (bytes === undefined) return undefined
    while (this.#peers.size >= this.limit && this.#forgetOne());
    const peer: Peer = {
      address,
      bytes,
      port,
      qp: undefined,
      qpn: 0,
      at: bytes,
      handle: undefined,
      alias: undefined,
      heardMs: 0,
      askedMs: 0,
      foreign: false,
      used: false,
    }
    this.#peers.set(name, peer)
    return peer
  }

  /** Returns the peer whose queue pair sends with this address and port; undefined if it is not known. */
  from(address: string, port: number): Peer | undefined {
    const name = nameOf(address, port)
    return this.#peers.get(name) ?? this.#aliases.get(name)
  }

  /**
   * Forgets the oldest peer that was not used since it was last considered; one that was used counts as the youngest again. Returns false
   * if none can be forgotten.
   */
  #forgetOne(): boolean {
    let looks = 2 * this.#peers.size
    for (const [name, peer] of this.#peers) {
      if (looks-- === 0) break
      if (!peer.used && peer !== this.pinned) {
        countDrop('peersForgotten')
        this.forget(peer)
        return true
      }
      peer.used = false
      this.#peers.delete(name)
      this.#peers.set(name, peer)
    }
    return false
  }

  forget(peer: Peer): void {
    this.#peers.delete(nameOf(peer.address, peer.port))
    this.#dropAlias(peer)
    peer.handle?.close()
    peer.handle = undefined
  }

  #dropAlias(peer: Peer): void {
    if (peer.alias !== undefined && this.#aliases.get(peer.alias) === peer) this.#aliases.delete(peer.alias)
    peer.alias = undefined
  }

  /** Records the queue pair that the peer announced; a Verbena end announces its address, too. */
  tells(peer: Peer, qpn: number, address: Uint8Array, foreign: boolean): void {
    peer.foreign = foreign
    // On loopback every address leads to every other, and another process may own the device of the address that UDP uses. Elsewhere a peer
    // may only announce its own address.
    const at = !foreign && isLoopback(address) && isLoopback(peer.bytes) ? address : peer.bytes
    peer.qpn = qpn
    if (sameBytes(at, peer.at)) return
    peer.handle?.close()
    peer.handle = undefined
    peer.at = at
    this.#dropAlias(peer)
    if (at === peer.bytes) return
    peer.alias = nameOf(formatIp(at), peer.port)
    this.#aliases.set(peer.alias, peer)
  }

  /** Returns the path to the peer's queue pair, if that is known and a path can be made. */
  pathTo(peer: Peer): AddressHandle | undefined {
    if (peer.handle !== undefined || peer.qpn === 0 || peer.qp === undefined) return peer.handle
    try {
      peer.handle = peer.qp.createHandle(peer.at)
    } catch {
      // The device has no more address handles. The peer stays reachable over UDP.
    }
    return peer.handle
  }

  /** Returns the own queue pair from which to reach a peer; `isNew`: it did not exist before. */
  resolve(peer: Peer, source: PeerSource): Found {
    const { address } = peer
    let qp = this.#ways.get(address)
    const before = this.#qps.size
    try {
      qp ??= this.#qpTo(address, peer.port, source)
    } catch (error) {
      const { errno, message } = errnoOf(error)
      return { errno, text: message }
    }
    if (qp === undefined) return { errno: Errno.EHOSTUNREACH, text: `no RDMA device leads to ${address}` }
    if (this.#ways.size >= this.limit) this.#ways.clear()
    this.#ways.set(address, qp)
    peer.qp = qp
    return { qp, isNew: this.#qps.size > before }
  }

  #qpTo(address: string, port: number, source: PeerSource): DatagramQp | undefined {
    const { own } = source
    const any = own.address === '0.0.0.0' || own.address === '::'
    try {
      return this.#qpFrom(any ? undefined : own.address, address, port, source)
    } catch (error) {
      // Another process may own the device of a loopback address: as for streams, any other address will do.
      if (any || errnoOf(error).errno !== Errno.EADDRINUSE || !own.address.startsWith('127.')) throw error
      return this.#qpFrom(undefined, address, port, source)
    }
  }

  #qpFrom(own: string | undefined, address: string, port: number, source: PeerSource): DatagramQp | undefined {
    const { cm, slots, member } = source
    const id = cm.channel.createId(PortSpace.Udp)
    try {
      id.resolveAddr(own === undefined ? undefined : { address: own, port: 0 }, { address, port })
      if (id.verbs === undefined) return undefined
      const local = id.localAddress.address
      let qp = this.#qps.get(local)
      if (qp === undefined) {
        qp = new DatagramQp(id.verbs, addressBytes(local)!, source.own.port, slots, member)
        this.#qps.set(local, qp)
      }
      return qp
    } finally {
      id.close()
    }
  }

  close(): void {
    for (const peer of [...this.#peers.values()]) this.forget(peer)
    for (const qp of this.#qps.values()) qp.close()
  }
}
