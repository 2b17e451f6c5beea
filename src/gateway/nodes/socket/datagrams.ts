/** Datagrams (UDP, UNIX) by system calls: a path waits for them in the kernel, and they are decoded into its samples at once. */
import {
  errnoName,
  maxDatagramBytes,
  NativeError,
  UdpSocket,
  UnixDatagrams,
  waitReadable,
} from '../../../memory/index.ts'
import { parseIp } from '../../../text/index.ts'
import type { Destination, NodeContext, RunningNode, Source } from '../../index.ts'
import { Counters } from '../kit/counters.ts'
import { FrameDecoder } from '../kit/frames-in.ts'
import { FramesOut } from '../kit/frames-out.ts'
import { describeAddress } from '../kit/settings.ts'
import type { SocketSettings } from './settings.ts'
import { fault, interfaceIndex, type Resolved, resolve } from './udp-address.ts'

/** Socket of either kind. */
interface Link {
  readonly fd: number
  /** Returns the next datagram; null if there is none. It is valid until the next call. */
  next(): Uint8Array | null
  send(frame: Uint8Array, count: number): boolean
  counters(): void
  close(): void
}

const EAGAIN = -11
/** Maximum number of frames at a time, so that a flood of malformed ones does not keep a path from its other sources. */
const mostFrames = 256
const roomBytes = 1 << 16
const lowDelay = 0x10

class DatagramSource implements Source {
  released = 0
  readonly #link: Link
  readonly #decoder: FrameDecoder
  readonly #fds: Int32Array
  #frame: Uint8Array = new Uint8Array(0)
  #at = 0

  constructor(link: Link, decoder: FrameDecoder) {
    this.#link = link
    this.#decoder = decoder
    this.#fds = Int32Array.of(link.fd)
  }

  read(samples: Int32Array, count: number): number {
    this.released = count
    let filled = 0
    for (let frames = 0; filled < count && frames < mostFrames; frames++) {
      if (this.#at >= this.#frame.length) {
        const frame = this.#link.next()
        if (frame === null) break
        this.#frame = frame
        this.#at = 0
      }
      this.#at = this.#decoder.decode(this.#frame, this.#at, samples, filled, count - filled, true)
      filled += this.#decoder.count
    }
    return filled
  }

  wait(ms: number): void {
    if (this.#at >= this.#frame.length) waitReadable([], this.#fds, 1, ms)
  }
}

/** View of the first bytes of a buffer: the same one as long as frames are of one length. */
class View {
  readonly #bytes: Uint8Array
  #view: Uint8Array
  #from = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = bytes.subarray(0, 0)
  }

  of(from: number, length: number): Uint8Array {
    if (from !== this.#from || length !== this.#view.length) {
      this.#view = this.#bytes.subarray(from, from + length)
      this.#from = from
    }
    return this.#view
  }
}

class UdpLink implements Link {
  readonly fd: number
  readonly #socket: UdpSocket
  readonly #counters: Counters
  readonly #bytes: Uint8Array
  readonly #view: View
  readonly #destination: number
  readonly #from: string | undefined
  readonly #remote: { bytes: Uint8Array; port: number } | undefined
  /** Range of the bytes that were received at once and not read yet, cut into datagrams of one size. */
  #at = 0
  #end = 0
  #sawDrops = 0

  constructor(socket: UdpSocket, counters: Counters, { remote }: Resolved, verify: boolean) {
    this.fd = socket.fd
    this.#socket = socket
    this.#counters = counters
    this.#bytes = new Uint8Array(socket.memory)
    this.#view = new View(this.#bytes)
    this.#from = remote && describeAddress(remote)
    const bytes = remote && gidOf(remote.host)
    this.#destination = remote ? socket.destination(bytes!, remote.port) : -1
    this.#remote = verify ? { bytes: bytes!, port: remote!.port } : undefined
  }

  next(): Uint8Array | null {
    const socket = this.#socket
    while (this.#at >= this.#end) {
      const n = socket.receive(0, roomBytes)
      if (n < 0) {
        if (n !== EAGAIN) this.#counters.warn('receive_failed', `nothing can be received: ${errnoName(-n)}`)
        return null
      }
      if (this.#remote !== undefined && !this.#verified(this.#remote)) {
        const what = `a datagram that does not come from ${this.#from} was dropped (verify_source)`
        this.#counters.warn('wrong_source', what, datagramsIn(n, socket.segmentBytes))
        continue
      }
      if (n === 0) continue
      this.#at = 0
      this.#end = n
    }
    const at = this.#at
    const length = Math.min(socket.segmentBytes, this.#end - at)
    this.#at += length
    return this.#view.of(at, length)
  }

  #verified({ bytes, port }: { bytes: Uint8Array; port: number }): boolean {
    const { source, sourcePort } = this.#socket
    if (sourcePort !== port) return false
    for (let i = 0; i < 16; i++) if (source[i] !== bytes[i]) return false
    return true
  }

  send(frame: Uint8Array, count: number): boolean {
    this.#bytes.set(frame, roomBytes)
    const n = this.#socket.send(roomBytes, frame.length, 0, this.#destination)
    if (n === frame.length) return true
    const full = n === EAGAIN
    const what = full ? 'the socket is full: samples are lost' : `samples are lost: ${this.#from}: ${errnoName(-n)}`
    this.#counters.warn(full ? 'dropped' : 'send_failed', what, count)
    return false
  }

  /** Counts datagrams that the kernel has dropped since, because the socket's buffer was full. */
  counters(): void {
    const drops = (this.#socket.kernelDrops - this.#sawDrops) >>> 0
    if (drops > 0)
      this.#counters.warn('kernel_dropped', 'datagrams came faster than they were read, and were lost', drops)
    this.#sawDrops = this.#socket.kernelDrops
  }

  close(): void {
    this.#socket.close()
  }
}

function datagramsIn(bytes: number, segment: number): number {
  return segment > 0 ? Math.ceil(bytes / segment) : 1
}

/** Returns 16 bytes; IPv4 as ::ffff:a.b.c.d. */
function gidOf(host: string): Uint8Array {
  const address = parseIp(host.replace(/%.*/, ''))!
  if (address.length === 16) return address
  return Uint8Array.of(...new Uint8Array(10), 0xff, 0xff, ...address)
}

export async function startUdp(context: NodeContext, settings: SocketSettings): Promise<RunningNode> {
  const { multicast } = settings
  const addresses = await resolve(context, settings)
  const { local, remote } = addresses
  const memory = new ArrayBuffer(roomBytes + maxDatagramBytes)
  const socket = opened(() =>
    UdpSocket.open(memory, {
      address: gidOf(local.host),
      port: local.port,
      fragments: true,
      reuseAddress: multicast !== undefined,
    }),
  )
  socket.setTrafficClass(lowDelay)
  if (multicast) {
    opened(() => {
      const index = interfaceIndex(multicast)
      socket.joinGroup(gidOf(multicast.group), index)
      socket.setMulticastInterface(index)
      socket.setMulticastLoop(multicast.loop)
      if (multicast.ttl > 0) socket.setHopLimit(multicast.ttl)
    })
  }
  const counters = new Counters(context)
  const link = new UdpLink(socket, counters, addresses, settings.verifySource)
  return node(context, settings, counters, link, remote !== undefined, maxDatagramBytes)
}

class UnixLink implements Link {
  readonly fd: number
  readonly #socket: UnixDatagrams
  readonly #counters: Counters
  readonly #bytes = new Uint8Array(unixBytes)
  readonly #view = new View(this.#bytes)
  readonly #remote: string
  readonly #verify: boolean

  constructor(socket: UnixDatagrams, counters: Counters, { remote, verifySource }: SocketSettings) {
    this.fd = socket.fd
    this.#socket = socket
    this.#counters = counters
    this.#remote = String(remote)
    this.#verify = verifySource
  }

  next(): Uint8Array | null {
    for (;;) {
      const n = this.#socket.receive(this.#bytes)
      if (n < 0) {
        if (n !== EAGAIN) this.#counters.warn('receive_failed', `nothing can be received: ${errnoName(-n)}`)
        return null
      }
      if (this.#verify && !this.#socket.isFromPeer)
        this.#counters.warn(
          'wrong_source',
          `a datagram that does not come from ${this.#remote} was dropped (verify_source)`,
        )
      else if (n > unixBytes) this.#counters.warn('malformed', `a datagram of ${n} bytes is longer than ${unixBytes}`)
      else if (n > 0) return this.#view.of(0, n)
    }
  }

  send(frame: Uint8Array, count: number): boolean {
    const n = this.#socket.send(frame)
    if (n === frame.length) return true
    if (n === EAGAIN) this.#counters.warn('dropped', `${this.#remote} does not keep up: samples are lost`, count)
    else this.#counters.warn('not_connected', `samples are lost: ${this.#remote}: ${errnoName(-n)}`, count)
    return false
  }

  counters(): void {}

  close(): void {
    this.#socket.close()
  }
}

const unixBytes = 1 << 18

export async function startUnix(context: NodeContext, settings: SocketSettings): Promise<RunningNode> {
  const { local, remote } = settings
  const socket = opened(() => new UnixDatagrams((local as string) ?? null, (remote as string) ?? null))
  const counters = new Counters(context)
  const link = new UnixLink(socket, counters, settings)
  return node(context, settings, counters, link, remote !== undefined, 1 << 16)
}

/** Opens a socket; an error of the system is an error of the node. */
function opened<T>(open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof NativeError)) throw error
    throw fault(error.message)
  }
}

function node(
  context: NodeContext,
  { format, local }: SocketSettings,
  counters: Counters,
  link: Link,
  writes: boolean,
  limit: number,
): RunningNode {
  const source: Source | null =
    local === undefined ? null : new DatagramSource(link, new FrameDecoder(context, format, counters, true))
  const destination: Destination | null = writes
    ? new FramesOut(context, format, counters, { limit, send: (frame, count) => link.send(frame, count) })
    : null
  let state = 'started'
  return {
    source,
    destination,
    synchronous: true,
    get state() {
      return state
    },
    counters() {
      link.counters()
      return counters.all
    },
    async stop() {
      state = 'stopped'
      link.close()
    },
  }
}
