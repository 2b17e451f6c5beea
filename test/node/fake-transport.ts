/**
 * Sockets within this process, in the place of rsockets: what lies above is tested without any device. Buffers are small,
 * so that writing has to wait; a connection and what is sent are seen a turn of the event loop later.
 */
import {
  AF_INET6,
  Errno,
  POLLERR,
  POLLHUP,
  POLLIN,
  POLLOUT,
  type RSocketCounters,
  type RSocketLike,
  SHUT_RD,
  SHUT_RDWR,
  SHUT_WR,
  SO_ERROR,
  SO_LINGER,
  SOCK_DGRAM,
  type SocketAddress,
  type Watch,
} from '../../src/rsocket/index.ts'

const bufferBytes = 100_000

interface Watched {
  socket: FakeSocket
  events: number
  callback: (revents: number) => void
  referenced: boolean
}

/** Calls watchers once a turn, as an event loop does. */
class Poller {
  readonly #watches = new Set<Watched>()
  #next: NodeJS.Immediate | undefined

  add(watched: Watched): Watch {
    this.#watches.add(watched)
    const set = (referenced: boolean): void => {
      watched.referenced = referenced
      this.#arm()
    }
    this.#arm()
    return Object.assign(
      () => {
        this.#watches.delete(watched)
        this.#arm()
      },
      { ref: () => set(true), unref: () => set(false) },
    )
  }

  #arm(): void {
    clearImmediate(this.#next)
    this.#next = undefined
    if (this.#watches.size === 0) return
    this.#next = setImmediate(() => this.#turn())
    if (![...this.#watches].some((w) => w.referenced)) this.#next.unref()
  }

  #turn(): void {
    for (const watched of [...this.#watches]) {
      if (!this.#watches.has(watched)) continue
      const revents = watched.socket.poll(watched.events)
      if (revents !== 0) watched.callback(revents)
    }
    this.#arm()
  }
}

const poller = new Poller()
const listening = new Map<number, FakeSocket[]>()
let nextPort = 40_000
/** Networks where nobody ever answers, and where answers come late. */
const silent = '127.0.79.'
const late = '127.0.80.'
const lateMs = 200
/** An address whose device another process has, and one of which the first ports that are asked for are taken. */
const deviceInUse = '127.0.0.78'
const portsInUse = '127.0.0.77'
let busyPorts = 3

const isAny = (address: string): boolean => address === '::' || address === '0.0.0.0'

class FakeSocket implements RSocketLike {
  readonly family: number
  readonly type: number
  closed = false
  reason = ''
  #local: Required<SocketAddress> | undefined
  #remote: Required<SocketAddress> | undefined
  #backlog: FakeSocket[] | undefined
  #peer: FakeSocket | undefined
  #incoming: Buffer[] = []
  #incomingBytes = 0
  #error = 0
  #ended = false
  #sentEnd = false
  #linger = -1

  constructor(family: number, type: number) {
    this.family = family
    this.type = type
  }

  #name({ address, port }: SocketAddress): Required<SocketAddress> {
    return { address, port, family: address.includes(':') ? 'IPv6' : 'IPv4' }
  }

  bind(addr: SocketAddress): number {
    if (addr.address.includes(':') !== (this.family === AF_INET6)) return -Errno.EAFNOSUPPORT
    if (addr.address.startsWith('192.0.2.')) return -Errno.EADDRNOTAVAIL
    if (addr.address === deviceInUse) {
      this.reason = `openDevice: roce:${deviceInUse}: UDP port 4791 of ${deviceInUse} is in use`
      return -Errno.EADDRINUSE
    }
    if (addr.address === portsInUse && busyPorts-- > 0) return -Errno.EADDRINUSE
    let { port } = addr
    while (port === 0 || (addr.port === 0 && listening.has(port))) port = nextPort++
    const others = listening.get(port) ?? []
    const clash = others.some((o) => {
      const bound = o.#local!.address
      return bound === addr.address || bound === '::' || addr.address === '::'
    })
    if (clash) return -Errno.EADDRINUSE
    this.#local = this.#name({ address: addr.address, port })
    return 0
  }

  listen(): number {
    if (!this.#local) this.bind({ address: this.family === AF_INET6 ? '::' : '0.0.0.0', port: 0 })
    this.#backlog = []
    const { port } = this.#local!
    listening.set(port, [...(listening.get(port) ?? []), this])
    return 0
  }

  accept(): FakeSocket | number {
    return this.#backlog?.shift() ?? -Errno.EAGAIN
  }

  connect(addr: SocketAddress): number {
    if (addr.address.startsWith('198.51.100.')) return -Errno.EINPROGRESS // nobody ever answers
    if (addr.address.startsWith(silent)) return -Errno.EINPROGRESS
    if (addr.address.startsWith(late)) {
      setTimeout(() => this.#arrive(addr), lateMs).unref()
      return -Errno.EINPROGRESS
    }
    if (addr.address.startsWith('203.0.113.')) return -Errno.EHOSTUNREACH
    setImmediate(() => this.#arrive(addr))
    return -Errno.EINPROGRESS
  }

  #arrive(addr: SocketAddress): void {
    if (this.closed) return
    const match = (listening.get(addr.port) ?? []).find((l) => l.#accepts(addr.address))
    if (!match) {
      this.#error = Errno.ECONNREFUSED
      return
    }
    const local = this.#local ?? this.#name({ address: addr.address, port: nextPort++ })
    this.#local = isAny(local.address) ? { ...local, address: addr.address } : local
    this.#remote = this.#name(addr)
    const other = new FakeSocket(this.family, this.type)
    other.#local = this.#remote
    other.#remote = this.#local
    other.#peer = this
    this.#peer = other
    match.#backlog!.push(other)
  }

  #accepts(address: string): boolean {
    const bound = this.#local!.address
    return bound === address || bound === '::' || (bound === '0.0.0.0' && !address.includes(':'))
  }

  send(buffer: Uint8Array): number {
    if (this.closed) return -Errno.EBADF
    if (this.#error) return -this.#error
    if (this.#sentEnd) return -Errno.EPIPE
    const peer = this.#peer
    if (!peer) return -Errno.ENOTCONN
    if (peer.closed) return -Errno.EPIPE
    const room = bufferBytes - peer.#incomingBytes
    if (room <= 0) return -Errno.EAGAIN
    const taken = Math.min(room, buffer.length)
    peer.#incoming.push(Buffer.from(buffer.subarray(0, taken)))
    peer.#incomingBytes += taken
    return taken
  }

  recv(buffer: Uint8Array): number {
    if (this.closed) return -Errno.EBADF
    const first = this.#incoming[0]
    if (!first) {
      if (this.#error) return -this.#error
      return this.#ended ? 0 : -Errno.EAGAIN
    }
    const taken = Math.min(first.length, buffer.length)
    buffer.set(first.subarray(0, taken))
    if (taken === first.length) this.#incoming.shift()
    else this.#incoming[0] = first.subarray(taken)
    this.#incomingBytes -= taken
    return taken
  }

  sendv(buffers: readonly Uint8Array[]): number {
    return this.send(Buffer.concat(buffers))
  }

  recvv(): number {
    return -Errno.EOPNOTSUPP
  }

  get readableBytes(): number {
    return this.#incomingBytes
  }

  get writableBytes(): number {
    return this.#peer ? bufferBytes - this.#peer.#incomingBytes : 0
  }

  get pendingBytes(): number {
    return 0
  }

  shutdown(how: number): number {
    if (!this.#peer) return -Errno.ENOTCONN
    if (how === SHUT_WR || how === SHUT_RDWR) {
      this.#sentEnd = true
      this.#peer.#ended = true
    }
    if (how === SHUT_RD || how === SHUT_RDWR) this.#ended = true
    return 0
  }

  close(): number {
    if (this.closed) return -Errno.EBADF
    this.closed = true
    if (this.#backlog) {
      const { port } = this.#local!
      const rest = listening.get(port)!.filter((l) => l !== this)
      if (rest.length > 0) listening.set(port, rest)
      else listening.delete(port)
      for (const waiting of this.#backlog) waiting.close()
    }
    const peer = this.#peer
    if (peer && !peer.closed) {
      // As with TCP, unread data or a linger of zero makes it a reset.
      if (this.#linger === 0 || this.#incomingBytes > 0) {
        peer.#error = Errno.ECONNRESET
        peer.reason = 'the peer threw the connection away'
      }
      peer.#ended = true
    }
    return 0
  }

  poll(events: number): number {
    let revents = 0
    if (this.#backlog) return this.#backlog.length > 0 ? events & POLLIN : 0
    if (this.#error) revents |= POLLERR | (events & (POLLIN | POLLOUT))
    if (this.#incomingBytes > 0 || this.#ended) revents |= events & POLLIN
    if (this.#peer && (this.#peer.closed || this.#peer.#incomingBytes < bufferBytes)) revents |= events & POLLOUT
    if (this.#ended && this.#sentEnd) revents |= POLLHUP
    return revents
  }

  watch(events: number, callback: (revents: number) => void): Watch {
    return poller.add({ socket: this, events, callback, referenced: true })
  }

  getpeername(): Required<SocketAddress> | number {
    return this.#remote ?? -Errno.ENOTCONN
  }

  getsockname(): Required<SocketAddress> | number {
    return this.#local ?? { address: '0.0.0.0', port: 0, family: 'IPv4' }
  }

  setsockopt(_level: number, name: number, value: number | { onoff: number; linger: number }): number {
    if (name === SO_LINGER && typeof value === 'object') this.#linger = value.onoff ? value.linger : -1
    return 0
  }

  getsockopt(_level: number, name: number): number {
    return name === SO_ERROR ? this.#error : 0
  }

  fcntl(): number {
    return 0
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

  async acceptAsync(): Promise<RSocketLike> {
    throw new Error('not here')
  }

  async connectAsync(): Promise<void> {
    throw new Error('not here')
  }

  async sendAsync(): Promise<number> {
    throw new Error('not here')
  }

  async recvAsync(): Promise<number> {
    throw new Error('not here')
  }

  counters(): RSocketCounters {
    throw new Error('not here')
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

const mailboxes = new Map<number, FakeDatagram>()
const deepestMailbox = 1000

/** Datagrams: what finds no room, or nobody, is lost. */
class FakeDatagram extends FakeSocket {
  #name: Required<SocketAddress> | undefined
  #peer: SocketAddress | undefined
  readonly #mail: { data: Buffer; from: Required<SocketAddress> }[] = []

  override bind(addr: SocketAddress): number {
    if (addr.address.startsWith('192.0.2.')) return -Errno.EADDRNOTAVAIL
    const port = addr.port || nextPort++
    if (mailboxes.has(port)) return -Errno.EADDRINUSE
    this.#name = { address: addr.address, port, family: addr.address.includes(':') ? 'IPv6' : 'IPv4' }
    mailboxes.set(port, this)
    return 0
  }

  override connect(addr: SocketAddress): number {
    this.#peer = addr.address === '' ? undefined : addr
    return 0
  }

  override send(data: Uint8Array): number {
    return this.#peer ? this.sendto(data, 0, this.#peer) : -Errno.EDESTADDRREQ
  }

  sendto(data: Uint8Array, _flags: number, to: SocketAddress): number {
    if (data.length > 65_507) return -Errno.EMSGSIZE
    const other = mailboxes.get(to.port)
    const from = isAny(this.#name!.address) ? { ...this.#name!, address: to.address } : this.#name!
    if (other && other.#mail.length < deepestMailbox) other.#mail.push({ data: Buffer.from(data), from })
    return data.length
  }

  recvfrom(buffer: Uint8Array, _flags: number, from: Partial<SocketAddress> = {}): number {
    const first = this.#mail.shift()
    if (!first) return -Errno.EAGAIN
    buffer.set(first.data)
    Object.assign(from, first.from)
    return first.data.length
  }

  override poll(events: number): number {
    return events & (POLLOUT | (this.#mail.length > 0 ? POLLIN : 0))
  }

  override getsockname(): Required<SocketAddress> | number {
    return this.#name ?? -Errno.EINVAL
  }

  override getpeername(): Required<SocketAddress> | number {
    return this.#peer ? { family: 'IPv4', ...this.#peer } : -Errno.ENOTCONN
  }

  override getsockopt(): number {
    return 212_992
  }

  override close(): number {
    this.closed = true
    if (this.#name && mailboxes.get(this.#name.port) === this) mailboxes.delete(this.#name.port)
    return 0
  }
}

export const openFake = (family: number, type: number): RSocketLike =>
  type === SOCK_DGRAM ? new FakeDatagram(family, type) : new FakeSocket(family, type)
