/**
 * A UDP socket through `node:dgram`, for where the C library cannot be called: one datagram a call, delivered by the
 * event loop. No option is set, since Node has none for them: the identification of its IPv4 packets counts, so only
 * Verbena, which solves for it, accepts their ICRC; over IPv6 every peer does.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { bindAdvice } from '../../memory/index.ts'
import { formatIp, ipOfGid } from '../../wire/index.ts'
import { type HostAddress, isLinkLocal, parseAddress } from './addresses.ts'
import { groupAddress } from './paths.ts'

/** Counters of a device on this socket. */
export interface DatagramCounters {
  sentPackets: number
  /** Datagrams that the system rejected, by its code: `EMSGSIZE`, `ENETUNREACH`, `ENOBUFS`, … */
  sendErrors: Record<string, number>
  receivedPackets: number
}

export class DatagramSocket {
  readonly counters: DatagramCounters = { sentPackets: 0, sendErrors: {}, receivedPackets: 0 }
  /**
   * Callback for each datagram: its bytes, its source as a GID (refreshed in place by the next one) and the port of the source. The bytes
   * belong to the callee.
   */
  onPacket: (bytes: Uint8Array, source: Uint8Array, sourcePort: number) => void = () => {}

  /** Callback for each datagram that the system rejected. */
  onSendError: () => void = () => {}

  readonly #local: HostAddress
  readonly #requestedPort: number
  readonly #socket: Socket
  readonly #source = new Uint8Array(16)
  /** Destinations by index: text and port; and the index of each. */
  readonly #texts: string[] = []
  readonly #ports: number[] = []
  readonly #indices = new Map<string, number>()
  #lastSource = ''
  #closed: Promise<void> | null = null

  readonly #group: Uint8Array | null
  #unsent = 0
  #hopLimit = 0
  #sendsGroups = false

  /** Constructs a socket, which `bind` opens. `port` 0: any free one. `group` is the GID of a multicast group whose packets it receives. */
  constructor(local: HostAddress, port: number, group: Uint8Array | null = null) {
    this.#local = local
    this.#requestedPort = port
    this.#group = group
    const reuseAddr = group !== null
    const four = local.address.length === 4
    this.#socket = createSocket(four ? { type: 'udp4', reuseAddr } : { type: 'udp6', ipv6Only: true, reuseAddr })
    if (local.address.length === 4) this.#source.fill(0xff, 10, 12)
  }

  /** Port that the socket is bound to; 0 before `bind`. */
  get port(): number {
    return this.#closed === null && this.#bound ? this.#socket.address().port : 0
  }

  #bound = false

  get #family(): 4 | 6 {
    return this.#local.address.length === 4 ? 4 : 6
  }

  /** Interface of this end, as Node takes it. */
  get #here(): string {
    return this.#family === 4 ? this.#local.text : `::%${this.#local.interface}`
  }

  /** Number of datagrams that the system has not taken yet. */
  get unsent(): number {
    return this.#unsent
  }

  /** Sets the TTL or hop limit of the datagrams sent from now on; 0: the system's default. */
  setHopLimit(value: number): void {
    if (value === this.#hopLimit) return
    this.#hopLimit = value
    this.#socket.setTTL(value || 64)
    this.#socket.setMulticastTTL(value || 64)
  }

  /** Makes multicast datagrams leave through the interface of this end. */
  sendGroupsFromHere(): void {
    if (this.#sendsGroups) return
    this.#sendsGroups = true
    this.#socket.setMulticastInterface(this.#here)
    this.#socket.setMulticastLoopback(true)
  }

  /** Binds. Rejects with the system's error (`code` EADDRINUSE, EADDRNOTAVAIL, EACCES) and a text that suggests a remedy. */
  async bind(): Promise<void> {
    const { address, interface: name } = this.#local
    const text = this.#group === null ? this.#local.text : formatIp(groupAddress(this.#group, this.#family))
    await new Promise<void>((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException): void => {
        this.#socket.close()
        reject(Object.assign(new Error(advice(error, text, this.#requestedPort)), { code: error.code }))
      }
      this.#socket.once('error', failed)
      // Node looks for the interface of a multicast address in the address itself.
      const zoned = address.length === 16 && this.#group !== null ? `${text}%${name}` : text
      this.#socket.bind({ address: zoned, port: this.#requestedPort, exclusive: true }, () => {
        this.#socket.off('error', failed)
        try {
          if (this.#group !== null) this.#socket.addMembership(text, this.#here)
        } catch (error) {
          failed(error as NodeJS.ErrnoException)
          return
        }
        resolve()
      })
    })
    this.#bound = true
    // Errors that the network returns for a datagram are left to the transport; they are only counted.
    this.#socket.on('error', (error: NodeJS.ErrnoException) => this.#count(error.code))
    this.#socket.on('message', (bytes, info) => this.#deliver(bytes, info))
  }

  #deliver(bytes: Uint8Array, info: RemoteInfo): void {
    this.counters.receivedPackets++
    if (info.address !== this.#lastSource) {
      const parsed = parseAddress(info.address)
      if (parsed === null) return
      this.#source.set(parsed.address, 16 - parsed.address.length)
      this.#lastSource = info.address
    }
    this.onPacket(bytes, this.#source, info.port)
  }

  #count(code = 'unknown'): void {
    this.counters.sendErrors[code] = (this.counters.sendErrors[code] ?? 0) + 1
    this.onSendError()
  }

  /** Returns the index of a destination for `send`, from its 4 or 16 bytes (or GID) and port: the same for the same address. */
  destination(address: Uint8Array, port: number): number {
    const plain = address.length === 16 ? ipOfGid(address) : address
    let text = formatIp(plain)
    if (isLinkLocal(plain)) text += `%${this.#local.interface}`
    const key = `${port} ${text}`
    let index = this.#indices.get(key)
    if (index === undefined) {
      index = this.#texts.length
      this.#texts.push(text)
      this.#ports.push(port)
      this.#indices.set(key, index)
    }
    return index
  }

  /** Makes the indices that `destination` has returned void. */
  forgetDestinations(): void {
    this.#texts.length = 0
    this.#ports.length = 0
    this.#indices.clear()
  }

  /**
   * Sends one datagram. `bytes` must not change until the event loop has turned. Failures are counted; sending on a closed socket is one,
   * EBADF.
   */
  send(bytes: Uint8Array, destination: number): void {
    if (this.#closed !== null) {
      this.#count('EBADF')
      return
    }
    this.#unsent++
    this.#socket.send(bytes, this.#ports[destination]!, this.#texts[destination]!, this.#sent)
  }

  readonly #sent = (error: NodeJS.ErrnoException | null): void => {
    this.#unsent--
    if (error) this.#count(error.code)
    else this.counters.sentPackets++
  }

  /** Lets the process end while the socket is open; without this call an open socket keeps the process alive. */
  unref(): void {
    this.#socket.unref()
  }

  /** Closes the socket; resolves when the port is free. A second call returns the same promise. */
  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      try {
        this.#socket.close(() => resolve())
      } catch {
        // It is closed already, after a bind that failed.
        resolve()
      }
    })
    return this.#closed
  }
}

export function advice(error: Pick<NodeJS.ErrnoException, 'code' | 'message'>, address: string, port: number): string {
  return bindAdvice(error.code, address, port) ?? `UDP port ${port} of ${address} could not be bound: ${error.message}`
}
