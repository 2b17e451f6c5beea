/**
 * A datagram socket: `rsocket(AF_INET, SOCK_DGRAM)`. The first datagrams to an address go over UDP, with a header that
 * carries the sender's queue pair; the peer answers with its own, and from then on datagrams go from one UD queue pair to
 * the other. One that is longer than a slot of a queue pair stays on UDP, between two Verbena ends.
 *
 * A peer that is gone, or has returned with another queue pair, does not announce it. So an address from which nothing came for
 * a second is sent a new request.
 */
import { type EventChannel, PortSpace } from '../../cm/index.ts'
import { untilLook } from '../../memory/index.ts'
import { formatIp } from '../../wire/index.ts'
import {
  AF_INET6,
  Counters,
  countDrop,
  decodeDatagramHeader,
  decodeUdpHeader,
  Errno,
  F_GETFD,
  F_GETFL,
  F_SETFD,
  F_SETFL,
  getOption,
  MSG_DONTWAIT,
  MSG_PEEK,
  O_NONBLOCK,
  O_RDWR,
  POLLIN,
  POLLOUT,
  type RSocketCounters,
  SO_BROADCAST,
  SO_ERROR,
  SO_TYPE,
  SOCK_DGRAM,
  SOL_SOCKET,
  SocketOptions,
  setOption,
  UdpOp,
} from '../protocol/index.ts'
import {
  activate,
  addressError,
  CmService,
  familyName,
  forget,
  type Member,
  notAnAddress,
  type SocketAddress,
  type UdpOwner,
  type Watch,
  Watches,
} from '../runtime/index.ts'
import { type Peer, Peers } from './datagram-peers.ts'
import type { DatagramQp } from './datagram-qp.ts'
import { DatagramQueue } from './datagram-queue.ts'
import { isForeign, UdpEnd } from './datagram-udp.ts'
import { errnoOf, RSocketError } from './errors.ts'
import { rejection, whenDone } from './promises.ts'
import type { RDatagram, RSocketLike, RSocketOptions } from './types.ts'

const slotBytes = 2048
/** Time of silence after which a peer's queue pair is requested again. */
const silenceMs = 1000
/** Interval at which a blocking call polls the UDP thread and the device, since it waits for both. */
const sliceMs = untilLook(2)
export class DatagramSocket implements RDatagram, Member, UdpOwner {
  readonly family: number
  readonly type: number = SOCK_DGRAM
  readonly #device: RSocketOptions['device']
  readonly #options: SocketOptions = new SocketOptions()
  readonly #watches: Watches = new Watches(() => this.#hold())
  readonly #peers: Peers = new Peers(this.#options.maxPeers)
  readonly #counters: Counters = new Counters()
  readonly #queue: DatagramQueue = new DatagramQueue()
  #cm: CmService | undefined
  /** UDP end; undefined until the socket is bound. */
  #udp: UdpEnd | undefined
  #peer: Peer | undefined
  #nonBlocking = false
  #descriptorFlags = 0
  #held = false
  #heldRef = false
  #closed = false
  reason = ''

  /** Makes a socket; programs call `rsocket`. */
  constructor(family: number, options: RSocketOptions = {}) {
    this.family = family
    this.#device = options.device
  }

  get closed(): boolean {
    return this.#closed
  }

  // --- addresses ---------------------------------------------------------------------------------------------------

  #wrong(addr: SocketAddress): number {
    const error = addressError(this.family, addr)
    const { port } = addr
    if (!(Number.isInteger(port) && port >= 0 && port <= 65535)) {
      this.reason = `addr.port must be an integer from 0 to 65535, not ${port}`
      return -Errno.EINVAL
    }
    if (error === -Errno.EINVAL) this.reason = notAnAddress(addr.address)
    return error
  }

  bind(addr: SocketAddress): number {
    if (this.#closed) return -Errno.EBADF
    if (this.#udp !== undefined) return -Errno.EINVAL
    const wrong = this.#wrong(addr)
    if (wrong < 0) return wrong
    const udp = UdpEnd.bind(this, addr, this.family === AF_INET6 ? 6 : 4, this.#options)
    if ('errno' in udp) {
      this.reason = udp.text
      return -udp.errno
    }
    const cm = CmService.acquire(this.#device, true)
    const foreign = this.#checkOwn(cm.channel, addr.address)
    if (foreign < 0) {
      udp.close()
      cm.release(true)
      return foreign
    }
    this.#udp = udp
    this.#cm = cm
    this.#hold()
    return 0
  }

  /** Checks an own address: UDP takes every address of the host; a device on one of them has only that. */
  #checkOwn(channel: EventChannel, address: string): number {
    const { device } = channel.devices
    const isOne = typeof device !== 'string' || device.startsWith('roce:')
    if (!isOne || address === '0.0.0.0' || address === '::') return 0
    const id = channel.createId(PortSpace.Udp)
    try {
      id.bindAddr({ address })
      return 0
    } catch (error) {
      const { errno, message } = errnoOf(error)
      this.reason = message
      return -errno
    } finally {
      id.close()
    }
  }

  #bound(): number {
    if (this.#closed) return -Errno.EBADF
    if (this.#udp !== undefined) return 0
    return this.bind({ address: this.family === AF_INET6 ? '::' : '0.0.0.0', port: 0 })
  }

  /** Sets the address for `send`, from which alone datagrams are received; an empty address removes it. */
  connect(addr: SocketAddress): number {
    if (addr.address === '') {
      this.#choose(undefined)
      return 0
    }
    const bound = this.#bound()
    if (bound < 0) return bound
    const wrong = this.#wrong(addr)
    if (wrong < 0) return wrong
    const peer = this.#peers.find(addr.address, addr.port)!
    const qp = this.#qpTo(peer)
    if (typeof qp === 'number') return qp
    this.#choose(peer)
    return 0
  }

  #choose(peer: Peer | undefined): void {
    this.#peer = peer
    this.#peers.pinned = peer
  }

  /** Returns the queue pair that leads to a peer, which is forgotten if no device does: then the error number, negative. */
  #qpTo(peer: Peer): DatagramQp | number {
    if (peer.qp !== undefined) return peer.qp
    const { receiveBufferBytes, sqSize, rqSize } = this.#options.stream
    const slots = Math.max(4, Math.min(sqSize, rqSize, Math.floor(receiveBufferBytes / slotBytes)))
    const found = this.#peers.resolve(peer, { cm: this.#cm!, own: this.#udp!.name, slots, member: this })
    if ('errno' in found) {
      this.#peers.forget(peer)
      this.reason = found.text
      return -found.errno
    }
    if (found.isNew && this.#held) found.qp.io.addMember(this.#heldRef)
    return found.qp
  }

  // --- sending -----------------------------------------------------------------------------------------------------

  send(buffer: Uint8Array, flags = 0): number {
    if (this.#closed) return -Errno.EBADF
    return this.#peer === undefined ? -Errno.EDESTADDRREQ : this.#sendTo(buffer, flags, this.#peer)
  }

  sendto(buffer: Uint8Array, flags: number, addr: SocketAddress): number {
    const bound = this.#bound()
    if (bound < 0) return bound
    const wrong = this.#wrong(addr)
    if (wrong < 0) return wrong
    return this.#sendTo(buffer, flags, this.#peers.find(addr.address, addr.port)!)
  }

  #sendTo(buffer: Uint8Array, flags: number, peer: Peer): number {
    if (peer.port === 0) {
      this.reason = 'nobody has port 0'
      return -Errno.EINVAL
    }
    const qp = this.#qpTo(peer)
    if (typeof qp === 'number') return qp
    peer.used = true
    const handle = this.#peers.pathTo(peer)
    const now = performance.now()
    const silent = now - peer.heardMs > silenceMs && now - peer.askedMs > silenceMs
    if (handle === undefined || silent || buffer.length > qp.longest) {
      this.#udp!.pump()
      const sent = this.#udp!.send(peer, qp, UdpOp.Data, buffer)
      if (sent < 0) return sent
      peer.askedMs = now
      return this.#sent(buffer)
    }
    while (!qp.send(buffer, handle, peer.qpn)) {
      if ((flags & MSG_DONTWAIT) !== 0 || this.#nonBlocking) return -Errno.EAGAIN
      qp.arm()
      if (!qp.sendable) qp.io.sleep(sliceMs)
    }
    return this.#sent(buffer)
  }

  #sent(buffer: Uint8Array): number {
    this.#counters.bytesSent += buffer.length
    this.#counters.messagesSent++
    return buffer.length
  }

  sendv(buffers: readonly Uint8Array[], flags = 0): number {
    return this.send(buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers), flags)
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** Counts datagrams that the service dropped. */
  udpDropped(datagrams: number): void {
    this.#counters.datagramsDropped += datagrams
    countDrop('udpDropped', datagrams)
  }

  /** Takes a datagram that the service received over UDP. */
  udpData(bytes: Uint8Array, address: string, port: number): void {
    const header = decodeUdpHeader(bytes)
    // A datagram from port 0 cannot be answered.
    const peer = header === undefined || port === 0 ? undefined : this.#peers.find(address, port)
    if (header === undefined || peer === undefined) {
      this.#counters.datagramsDropped++
      return
    }
    this.#peers.tells(peer, header.qpn, header.address, isForeign(bytes))
    peer.heardMs = performance.now()
    if (header.op === UdpOp.Data) {
      // Without a path back it cannot be answered.
      const qp = this.#qpTo(peer)
      if (typeof qp === 'number') {
        this.#counters.datagramsDropped++
        return
      }
      this.#udp!.send(peer, qp, UdpOp.Control, new Uint8Array(0))
      this.#arrived(bytes.slice(header.length), address, port)
    }
    if (this.#watches.size > 0) activate(this)
  }

  readonly #takeDatagram = (bytes: Uint8Array): void => {
    const header = decodeDatagramHeader(bytes)
    if (header === undefined || header.port === 0) {
      this.#counters.datagramsDropped++
      return
    }
    const address = formatIp(header.address)
    const peer = this.#peers.from(address, header.port)
    if (peer !== undefined) {
      peer.heardMs = performance.now()
      peer.used = true
    }
    this.#arrived(bytes.slice(header.length), peer?.address ?? address, header.port)
  }

  #arrived(data: Uint8Array, address: string, port: number): void {
    const only = this.#peer
    const wrong = only !== undefined && (only.address !== address || only.port !== port)
    if (wrong || !this.#queue.add(data, address, port, this.#options.stream.receiveBufferBytes)) {
      this.#counters.datagramsDropped++
      return
    }
    this.#counters.bytesReceived += data.length
    this.#counters.messagesReceived++
  }

  #process(): number {
    const before = this.#counters.messagesReceived
    this.#udp?.pump()
    for (const qp of this.#peers.qps) qp.process(this.#takeDatagram)
    return this.#counters.messagesReceived - before
  }

  recv(buffer: Uint8Array, flags = 0): number {
    return this.recvfrom(buffer, flags)
  }

  /** Receives a datagram. The bytes that do not fit into `buffer` are lost, as with UDP. */
  recvfrom(buffer: Uint8Array, flags: number, from?: Partial<SocketAddress>): number {
    const bound = this.#bound()
    if (bound < 0) return bound
    if (this.#queue.empty) this.#process()
    while (this.#queue.empty) {
      if ((flags & MSG_DONTWAIT) !== 0 || this.#nonBlocking) return -Errno.EAGAIN
      this.#wait()
    }
    return this.#queue.take(buffer, (flags & MSG_PEEK) !== 0, from)
  }

  #wait(): void {
    for (const qp of this.#peers.qps) qp.arm()
    if (this.#process() > 0) return
    const [qp] = this.#peers.qps
    if (qp !== undefined) qp.io.sleep(sliceMs)
    else this.#udp!.sleep(sliceMs)
    this.#process()
  }

  recvv(buffers: readonly Uint8Array[], flags = 0): number {
    const whole = new Uint8Array(buffers.reduce((sum, { length }) => sum + length, 0))
    const n = this.recv(whole, flags)
    let at = 0
    for (const buffer of buffers) {
      if (at >= n) break
      buffer.set(whole.subarray(at, Math.min(n, at + buffer.length)))
      at += buffer.length
    }
    return n
  }

  get readableBytes(): number {
    return this.#queue.nextLength
  }

  get writableBytes(): number {
    return slotBytes
  }

  get pendingBytes(): number {
    return 0
  }

  // --- readiness ---------------------------------------------------------------------------------------------------

  poll(events: number): number {
    this.#process()
    return this.#ready() & events
  }

  #ready(): number {
    let sendable = true
    for (const qp of this.#peers.qps) sendable = sendable && qp.sendable
    return (this.#queue.empty ? 0 : POLLIN) | (sendable ? POLLOUT : 0)
  }

  watch(events: number, callback: (revents: number) => void): Watch {
    const watch = this.#watches.add(events, callback)
    activate(this)
    return watch
  }

  turn(): boolean {
    if (this.#closed) return false
    const messages = this.#process()
    const called = this.#watches.size > 0 && this.#watches.call(this.#ready())
    return called || messages > 0
  }

  arm(): boolean {
    if (this.#closed) return false
    for (const qp of this.#peers.qps) qp.arm()
    // Earlier input makes no event, nor do datagrams that another socket has taken from the service for this one.
    return this.turn()
  }

  prepareSleep(): { sleep(ms: number): void } | null {
    for (const qp of this.#peers.qps) qp.arm()
    // Either side may have input.
    return { sleep: () => this.#wait() }
  }

  #hold(): void {
    const held = this.#watches.size > 0 && this.#udp !== undefined
    const ref = this.#watches.held
    if (held === this.#held && ref === this.#heldRef) return
    if (this.#held) {
      for (const qp of this.#peers.qps) qp.io.dropMember(this, this.#heldRef)
      if (this.#heldRef) this.#udp!.unhold()
    }
    this.#held = held
    this.#heldRef = held && ref
    if (!held) return
    for (const qp of this.#peers.qps) qp.io.addMember(ref)
    if (ref) this.#udp!.hold()
    activate(this)
  }

  // --- names, options, the end -------------------------------------------------------------------------------------

  getpeername(): Required<SocketAddress> | number {
    if (this.#peer === undefined) return -Errno.ENOTCONN
    const { address, port } = this.#peer
    return { address, port, family: familyName(address) }
  }

  getsockname(): Required<SocketAddress> | number {
    if (this.#closed) return -Errno.EBADF
    const six = this.family === AF_INET6
    return this.#udp?.name ?? { address: six ? '::' : '0.0.0.0', port: 0, family: six ? 'IPv6' : 'IPv4' }
  }

  setsockopt(level: number, name: number, value: number | { onoff: number; linger: number }): number {
    if (this.#closed) return -Errno.EBADF
    if (typeof value === 'object') return -Errno.EINVAL
    const result = setOption(this.#options, level, name, value)
    this.#peers.limit = this.#options.maxPeers
    this.#udp?.setLimits(this.#options)
    if (result === 0 && level === SOL_SOCKET && name === SO_BROADCAST) this.#udp?.setBroadcast(value !== 0)
    return result
  }

  getsockopt(level: number, name: number): number {
    if (this.#closed) return -Errno.EBADF
    if (level === SOL_SOCKET && name === SO_TYPE) return this.type
    if (level === SOL_SOCKET && name === SO_ERROR) return 0
    return getOption(this.#options, level, name)
  }

  fcntl(command: number, value = 0): number {
    if (this.#closed) return -Errno.EBADF
    if (command === F_GETFL) return O_RDWR | (this.#nonBlocking ? O_NONBLOCK : 0)
    if (command === F_GETFD) return this.#descriptorFlags
    if (command === F_SETFL) this.#nonBlocking = (value & O_NONBLOCK) !== 0
    else if (command === F_SETFD) this.#descriptorFlags = value
    else return -Errno.EINVAL
    return 0
  }

  shutdown(): number {
    return this.#closed ? -Errno.EBADF : -Errno.ENOTCONN
  }

  close(): number {
    if (this.#closed) return -Errno.EBADF
    this.#watches.clear()
    forget(this)
    this.#closed = true
    this.#udp?.close()
    this.#peers.close()
    this.#cm?.release(true)
    this.#queue.clear()
    return 0
  }

  [Symbol.dispose](): void {
    if (!this.#closed) this.close()
  }

  listen(): number {
    return -Errno.EOPNOTSUPP
  }
  accept(): number {
    return -Errno.EOPNOTSUPP
  }
  riomap(): number {
    return -Errno.EOPNOTSUPP
  }
  riounmap(): number {
    return -Errno.EOPNOTSUPP
  }
  riowrite(): number {
    return -Errno.EOPNOTSUPP
  }
  alloc(bytes: number): Uint8Array {
    return new Uint8Array(bytes)
  }

  counters(): RSocketCounters {
    return { ...this.#counters }
  }

  // --- promises ----------------------------------------------------------------------------------------------------

  async acceptAsync(): Promise<RSocketLike> {
    throw new RSocketError(Errno.EOPNOTSUPP, 'accept')
  }

  async connectAsync(addr: SocketAddress): Promise<void> {
    const result = this.connect(addr)
    if (result < 0) throw rejection(this, result, 'connect')
  }

  /** Sends to the address of `connect`. */
  sendAsync(buffer: Uint8Array): Promise<number> {
    return whenDone(this, POLLOUT, 'send', () => this.send(buffer, MSG_DONTWAIT))
  }

  recvAsync(buffer: Uint8Array): Promise<number> {
    return this.recvfromAsync(buffer)
  }

  /** Receives the next datagram; `from` becomes the sender's address. */
  recvfromAsync(buffer: Uint8Array, from?: Partial<SocketAddress>): Promise<number> {
    return whenDone(this, POLLIN, 'recvfrom', () => this.recvfrom(buffer, MSG_DONTWAIT, from))
  }
}
