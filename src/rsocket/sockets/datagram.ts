/**
 * A datagram socket: `rsocket(AF_INET, SOCK_DGRAM)`. The first datagrams to an address go over UDP, with a header that
 * carries the sender's queue pair; the peer answers with its own, and from then on datagrams go from one UD queue pair to
 * the other. One that is longer than a slot of a queue pair stays on UDP, between two Verbena ends.
 *
 * A peer that is gone, or has come back with another queue pair, does not say so. So an address from which nothing came for
 * a second is asked again.
 */
import { formatIp } from '../../wire/index.ts'
import {
  AF_INET6,
  Counters,
  countDrop,
  decodeDatagramHeader,
  decodeUdpHeader,
  Errno,
  encodeUdpHeader,
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
  udpHeaderBytes,
} from '../protocol/index.ts'
import {
  activate,
  addressError,
  CmService,
  familyName,
  forget,
  type IoContext,
  type Member,
  notAnAddress,
  type SocketAddress,
  type UdpOwner,
  UdpService,
  type Watch,
  Watches,
} from '../runtime/index.ts'
import { type Peer, Peers } from './datagram-peers.ts'
import type { DatagramQp } from './datagram-qp.ts'
import { RSocketError } from './errors.ts'
import type { RSocketLike, RSocketOptions } from './types.ts'

/** Longest datagram of UDP. */
const longestUdp = 65_507
const slotBytes = 2048
/** What a datagram that waits to be read counts beside its bytes: empty ones take memory, too. */
const waitingCost = 64
/** How long a peer may be silent before it is asked for its queue pair again. */
const silenceMs = 1000
/** A blocking call waits for the UDP thread and for the device: it polls each this often. */
const sliceMs = 2
/** In the reserved byte of the UDP header: a Verbena end takes longer datagrams over UDP than librdmacm. */
const mark = 0x56

interface Received {
  data: Uint8Array
  address: string
  port: number
}

export class RDatagram implements RSocketLike, Member, UdpOwner {
  readonly family: number
  readonly type: number = SOCK_DGRAM
  readonly io: IoContext | null = null
  readonly #device: RSocketOptions['device']
  readonly #options: SocketOptions = new SocketOptions()
  readonly #watches: Watches = new Watches(() => this.#hold())
  readonly #peers: Peers = new Peers(this.#options.maxPeers)
  readonly #counters: Counters = new Counters()
  #queue: Received[] = []
  #queueBytes = 0
  #cm: CmService | undefined
  #service: UdpService | undefined
  #id = 0
  #name: Required<SocketAddress> | undefined
  #peer: Peer | undefined
  #nonBlocking = false
  #descriptorFlags = 0
  #held = false
  #heldRef = false
  #closed = false
  reason = ''

  /** Use `rsocket`. */
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
    if (this.#service !== undefined) return -Errno.EINVAL
    const wrong = this.#wrong(addr)
    if (wrong < 0) return wrong
    const six = this.family === AF_INET6
    const service = UdpService.get()
    if (!(service instanceof UdpService)) {
      this.reason = service.text
      return -service.errno
    }
    const { reuseAddr, v6Only, broadcast } = this.#options
    const flags = { reuse: reuseAddr, v6Only }
    const bound = service.bind(this, six ? 6 : 4, addr.address, addr.port, flags, this.#udpBytes)
    if ('errno' in bound) {
      this.reason = bound.text
      return -bound.errno
    }
    this.#service = service
    this.#id = bound.id
    if (broadcast) service.setBroadcast(this.#id, true)
    this.#cm = CmService.acquire(this.#device, true)
    this.#name = { address: addr.address, port: bound.port, family: six ? 'IPv6' : 'IPv4' }
    this.#hold()
    return 0
  }

  /** Bytes over UDP that may wait for the program: as many as it may read late, and one of the longest datagrams. */
  get #udpBytes(): number {
    return Math.max(this.#options.stream.receiveBufferBytes, 2 * longestUdp)
  }

  #bound(): number {
    if (this.#closed) return -Errno.EBADF
    if (this.#service !== undefined) return 0
    return this.bind({ address: this.family === AF_INET6 ? '::' : '0.0.0.0', port: 0 })
  }

  /** Chooses the address for `send`, from which alone datagrams are received; an empty address removes it. */
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

  /** The queue pair that leads to a peer, which is forgotten if no device does: the error number, negative. */
  #qpTo(peer: Peer): DatagramQp | number {
    if (peer.qp !== undefined) return peer.qp
    const { receiveBufferBytes, sqSize, rqSize } = this.#options.stream
    const slots = Math.max(4, Math.min(sqSize, rqSize, Math.floor(receiveBufferBytes / slotBytes)))
    const found = this.#peers.resolve(peer, { cm: this.#cm!, own: this.#name!, slots, member: this })
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
      this.#service!.pump()
      const header = udpHeaderBytes(qp.address)
      if (buffer.length + header > (peer.foreign ? slotBytes : longestUdp)) return -Errno.EMSGSIZE
      peer.askedMs = now
      this.#sendUdp(peer, qp, UdpOp.Data, buffer)
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

  #sendUdp(peer: Peer, qp: DatagramQp, op: number, data: Uint8Array): void {
    const header = encodeUdpHeader({ op, qpn: qp.qpn, address: qp.address })
    header[7] = mark
    const bytes = new Uint8Array(header.length + data.length)
    bytes.set(header)
    bytes.set(data, header.length)
    this.#service!.send(this.#id, bytes, peer.address, peer.port)
  }

  sendv(buffers: readonly Uint8Array[], flags = 0): number {
    return this.send(buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers), flags)
  }

  // --- receiving ---------------------------------------------------------------------------------------------------

  /** From the service: datagrams were dropped. */
  udpDropped(datagrams: number): void {
    this.#counters.datagramsDropped += datagrams
    countDrop('udpDropped', datagrams)
  }

  /** From the service: a datagram came over UDP. */
  udpData(bytes: Uint8Array, address: string, port: number): void {
    const header = decodeUdpHeader(bytes)
    // Port 0 cannot be answered.
    const peer = header === undefined || port === 0 ? undefined : this.#peers.find(address, port)
    if (header === undefined || peer === undefined) {
      this.#counters.datagramsDropped++
      return
    }
    this.#peers.tells(peer, header.qpn, header.address, bytes[7] !== mark)
    peer.heardMs = performance.now()
    if (header.op === UdpOp.Data) {
      // Without a path back it cannot be answered.
      const qp = this.#qpTo(peer)
      if (typeof qp === 'number') {
        this.#counters.datagramsDropped++
        return
      }
      this.#sendUdp(peer, qp, UdpOp.Control, new Uint8Array(0))
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
    // As with UDP, what is not read in time is lost.
    const bytes = data.length + waitingCost
    const full = this.#queueBytes + bytes > this.#options.stream.receiveBufferBytes && this.#queue.length > 0
    if (wrong || full) {
      this.#counters.datagramsDropped++
      return
    }
    this.#queue.push({ data, address, port })
    this.#queueBytes += bytes
    this.#counters.bytesReceived += data.length
    this.#counters.messagesReceived++
  }

  #process(): number {
    const before = this.#counters.messagesReceived
    this.#service?.pump()
    for (const qp of this.#peers.qps) qp.process(this.#takeDatagram)
    return this.#counters.messagesReceived - before
  }

  recv(buffer: Uint8Array, flags = 0): number {
    return this.recvfrom(buffer, flags)
  }

  /** What does not fit into `buffer` is lost, as with UDP. */
  recvfrom(buffer: Uint8Array, flags: number, from?: Partial<SocketAddress>): number {
    const bound = this.#bound()
    if (bound < 0) return bound
    if (this.#queue.length === 0) this.#process()
    while (this.#queue.length === 0) {
      if ((flags & MSG_DONTWAIT) !== 0 || this.#nonBlocking) return -Errno.EAGAIN
      this.#wait()
    }
    const { data, address, port } = this.#queue[0]!
    if ((flags & MSG_PEEK) === 0) {
      this.#queue.shift()
      this.#queueBytes -= data.length + waitingCost
    }
    const n = Math.min(buffer.length, data.length)
    buffer.set(n === data.length ? data : data.subarray(0, n))
    if (from !== undefined) Object.assign(from, { address, port, family: familyName(address) })
    return n
  }

  #wait(): void {
    for (const qp of this.#peers.qps) qp.arm()
    if (this.#process() > 0) return
    const [qp] = this.#peers.qps
    if (qp !== undefined) qp.io.sleep(sliceMs)
    else this.#service!.sleep(sliceMs)
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
    this.#process()
    return this.#queue[0]?.data.length ?? 0
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
    return (this.#queue.length > 0 ? POLLIN : 0) | (sendable ? POLLOUT : 0)
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
    // What came before makes no event, nor does what another socket has taken from the service for this one.
    return this.turn()
  }

  prepareSleep(): { sleep(ms: number): void } | null {
    for (const qp of this.#peers.qps) qp.arm()
    // Either side may bring something.
    return { sleep: () => this.#wait() }
  }

  #hold(): void {
    const held = this.#watches.size > 0 && this.#service !== undefined
    const ref = this.#watches.held
    if (held === this.#held && ref === this.#heldRef) return
    if (this.#held) {
      for (const qp of this.#peers.qps) qp.io.dropMember(this, this.#heldRef)
      if (this.#heldRef) this.#service!.unhold()
    }
    this.#held = held
    this.#heldRef = held && ref
    if (!held) return
    for (const qp of this.#peers.qps) qp.io.addMember(ref)
    if (ref) this.#service!.hold()
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
    return this.#name ?? { address: six ? '::' : '0.0.0.0', port: 0, family: six ? 'IPv6' : 'IPv4' }
  }

  setsockopt(level: number, name: number, value: number | { onoff: number; linger: number }): number {
    if (this.#closed) return -Errno.EBADF
    if (typeof value === 'object') return -Errno.EINVAL
    const result = setOption(this.#options, level, name, value)
    this.#peers.limit = this.#options.maxPeers
    this.#service?.setLimit(this.#id, this.#udpBytes)
    if (result === 0 && level === SOL_SOCKET && name === SO_BROADCAST)
      this.#service?.setBroadcast(this.#id, value !== 0)
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
    this.#service?.close(this.#id)
    this.#peers.close()
    this.#cm?.release(true)
    this.#queue = []
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

  #when(events: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.watch(events, () => {
        stop()
        resolve()
      })
    })
  }

  async acceptAsync(): Promise<RSocketLike> {
    throw new RSocketError(Errno.EOPNOTSUPP, 'accept')
  }

  async connectAsync(addr: SocketAddress): Promise<void> {
    const result = this.connect(addr)
    if (result < 0) throw new RSocketError(result, 'connect', this.reason || undefined)
  }

  /** Sends to the address of `connect`. */
  async sendAsync(buffer: Uint8Array): Promise<number> {
    for (;;) {
      const n = this.send(buffer, MSG_DONTWAIT)
      if (n >= 0) return n
      if (n !== -Errno.EAGAIN) throw new RSocketError(n, 'send', this.reason || undefined)
      await this.#when(POLLOUT)
    }
  }

  async recvAsync(buffer: Uint8Array): Promise<number> {
    return this.recvfromAsync(buffer)
  }

  /** The next datagram; `from` becomes the sender's address. */
  async recvfromAsync(buffer: Uint8Array, from?: Partial<SocketAddress>): Promise<number> {
    for (;;) {
      const n = this.recvfrom(buffer, MSG_DONTWAIT, from)
      if (n >= 0) return n
      if (n !== -Errno.EAGAIN) throw new RSocketError(n, 'recvfrom', this.reason || undefined)
      await this.#when(POLLIN)
    }
  }
}
