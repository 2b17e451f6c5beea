/**
 * A datagram rsocket with the methods of libuv's UDP handle, so that it can replace one under Node's `dgram.Socket`. Calls return 0 or a
 * negative error number, as those of that handle.
 */
import { AsyncResource } from 'node:async_hooks'
import { withContext } from '../../memory/index.ts'
import {
  Errno,
  MSG_DONTWAIT,
  POLLIN,
  POLLOUT,
  RDMA_PEERS,
  type RSocketCounters,
  type RSocketLike,
  type RSocketOptions,
  SO_BROADCAST,
  SO_RCVBUF,
  SO_REUSEADDR,
  SO_SNDBUF,
  SOCK_DGRAM,
  SOL_RDMA,
  SOL_SOCKET,
} from '../../rsocket/index.ts'
import type { SocketAddress, Watch } from '../../rsocket/runtime/index.ts'
import { errnoError } from '../base/errors.ts'
import { again, nodeAddress, openSocket, whenDatagramsGo } from '../base/transport.ts'

/** Datagram to be sent: `oncomplete` is called if it could not be sent at once. */
export interface SendRequest {
  oncomplete?: (errno: number, length: number) => void
}

export interface RemoteInfo {
  address: string
  family: 'IPv4' | 'IPv6'
  port: number
  size: number
}

interface Waiting {
  done: (errno: number, length: number) => void
  data: Uint8Array
  to: SocketAddress | undefined
}

type Lookup = (address: string, callback: (error: Error | null, ip: string) => void) => void

const reuseAddressFlag = 4
/** Maximum length of a datagram. */
const longest = 65_536
/** Number of datagrams that the program gets before other work of the event loop has its turn. */
const datagramsPerTurn = 64

export class DatagramHandle {
  /**
   * Look-up of Node's own, which uses the program's `lookup`. Node calls it before `bind`, so this is the point at which to wait, without
   * blocking the event loop, for the thread that has the UDP sockets.
   */
  readonly lookup: Lookup
  readonly #family: number
  readonly #options: RSocketOptions
  readonly #maxPeers: number | undefined
  readonly #onMessage: (data: Buffer, from: RemoteInfo) => void
  readonly #onError: (errno: number) => void
  /** Context in which the socket was made, and in which 'message' runs. */
  readonly #resource = new AsyncResource('VERBENADATAGRAM', { requireManualDestroy: true })
  readonly #memory = Buffer.allocUnsafeSlow(longest)
  readonly #from: Partial<SocketAddress> = {}
  #socket: RSocketLike | undefined
  #reading: Watch | undefined
  #writing: Watch | undefined
  #referenced = true
  #waiting: Waiting[] = []
  #waitingBytes = 0

  constructor(
    family: number,
    { maxPeers, ...options }: RSocketOptions & { maxPeers?: number },
    lookup: Lookup,
    onMessage: (data: Buffer, from: RemoteInfo) => void,
    onError: (errno: number) => void,
  ) {
    this.#family = family
    this.#options = options
    this.#maxPeers = maxPeers
    this.lookup = (address, found) =>
      lookup(address, (error, ip) => {
        if (error) found(error, ip)
        else
          whenDatagramsGo((failure) =>
            found(failure === undefined ? null : errnoError(-Errno.EIO, 'bind', failure), ip),
          )
      })
    this.#onMessage = onMessage
    this.#onError = onError
  }

  bind(address: string, port: number, flags: number): number {
    if (this.#socket) return -Errno.EINVAL
    const socket = openSocket(this.#family, SOCK_DGRAM, this.#options)
    if (flags & reuseAddressFlag) socket.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    if (this.#maxPeers !== undefined) socket.setsockopt(SOL_RDMA, RDMA_PEERS, this.#maxPeers)
    const result = socket.bind({ address, port })
    if (result < 0) {
      socket.close()
      return result
    }
    this.#socket = socket
    return 0
  }

  connect(address: string, port: number): number {
    const result = this.#socket?.connect({ address, port }) ?? -Errno.EBADF
    return result === -Errno.EINPROGRESS ? 0 : result
  }

  /** Removes the peer by an address of no family, as with a UDP socket. */
  disconnect(): number {
    return this.#socket?.connect({ address: '', port: 0 }) ?? -Errno.EBADF
  }

  /** Sends a datagram; returns 1 + bytes if it is done, 0 if it is in progress, else a negative error number. */
  send(
    request: SendRequest,
    list: readonly Uint8Array[],
    _count: number,
    ...rest: [number, string] | unknown[]
  ): number {
    const socket = this.#socket
    if (!socket) return -Errno.EBADF
    const data = list.length === 1 ? list[0]! : Buffer.concat(list)
    const [port, address] = rest
    const to = typeof port === 'number' ? { address: address as string, port } : undefined
    if (this.#waiting.length === 0) {
      const sent = this.#sendNow(socket, data, to)
      if (sent !== again) return sent < 0 ? sent : sent + 1
    }
    const done = withContext((errno: number, length: number) => request.oncomplete?.(errno, length))
    this.#waiting.push({ done, data, to })
    this.#waitingBytes += data.length
    if (!this.#writing) this.#writing = this.#watch(POLLOUT, () => this.#flush())
    return 0
  }

  #sendNow(socket: RSocketLike, data: Uint8Array, to: SocketAddress | undefined): number {
    return to ? (socket.sendto?.(data, MSG_DONTWAIT, to) ?? -Errno.EOPNOTSUPP) : socket.send(data, MSG_DONTWAIT)
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#socket) {
      const { done, data, to } = this.#waiting[0]!
      const sent = this.#sendNow(this.#socket, data, to)
      if (sent === again) return
      this.#waiting.shift()
      this.#waitingBytes -= data.length
      done(Math.min(sent, 0), Math.max(sent, 0))
    }
    this.#writing?.()
    this.#writing = undefined
  }

  #watch(events: number, callback: () => void): Watch {
    const run = (): unknown => this.#resource.runInAsyncScope(callback)
    const watch = this.#resource.runInAsyncScope(() => this.#socket!.watch(events, run))
    if (!this.#referenced) watch.unref()
    return watch
  }

  recvStart(): number {
    if (!this.#socket) return -Errno.EBADF
    this.#reading ??= this.#watch(POLLIN, () => this.#receive())
    return 0
  }

  recvStop(): number {
    this.#reading?.()
    this.#reading = undefined
    return 0
  }

  #receive(): void {
    for (let n = 0; n < datagramsPerTurn && this.#reading && this.#socket; n++) {
      const got = this.#socket.recvfrom?.(this.#memory, MSG_DONTWAIT, this.#from) ?? -Errno.EOPNOTSUPP
      if (got === again) return
      if (got < 0) {
        this.#onError(got)
        return
      }
      const { address = '', port = 0 } = this.#from
      const family = address.includes(':') ? 'IPv6' : 'IPv4'
      this.#onMessage(Buffer.from(this.#memory.subarray(0, got)), { address, family, port, size: got })
    }
  }

  /** Returns the counters; undefined while there is no socket. */
  counters(): RSocketCounters | undefined {
    return this.#socket?.counters()
  }

  getsockname(out: object): number {
    if (!this.#socket) return -Errno.EBADF
    Object.assign(out, nodeAddress(this.#socket.getsockname()))
    return 0
  }

  getpeername(out: object): number {
    const name = this.#socket?.getpeername() ?? -Errno.EBADF
    if (typeof name === 'number') return name
    Object.assign(out, nodeAddress(name))
    return 0
  }

  setBroadcast(on: number): number {
    return this.#socket?.setsockopt(SOL_SOCKET, SO_BROADCAST, on) ?? -Errno.EBADF
  }

  // Datagrams of rsockets go from queue pair to queue pair: there are no hops to count, and no groups.
  setTTL(): number {
    return this.#refused()
  }

  setMulticastTTL(): number {
    return this.#refused()
  }

  setMulticastLoopback(): number {
    return this.#refused()
  }

  setMulticastInterface(): number {
    return this.#refused()
  }

  addMembership(): number {
    return this.#refused()
  }

  dropMembership(): number {
    return this.#refused()
  }

  addSourceSpecificMembership(): number {
    return this.#refused()
  }

  dropSourceSpecificMembership(): number {
    return this.#refused()
  }

  #refused(): number {
    return this.#socket ? -Errno.EOPNOTSUPP : -Errno.EBADF
  }

  /** Sets the size if it is not 0; returns the size, or undefined with the error in `context`. */
  bufferSize(size: number, send: boolean, context: Record<string, unknown>): number | undefined {
    const name = send ? SO_SNDBUF : SO_RCVBUF
    const fail = (errno: number): undefined => {
      Object.assign(context, { errno, code: 'EBADF', message: 'bad file descriptor', syscall: 'uv_buffer_size' })
      return undefined
    }
    if (!this.#socket) return fail(-Errno.EBADF)
    if (size > 0) this.#socket.setsockopt(SOL_SOCKET, name, size)
    const now = this.#socket.getsockopt(SOL_SOCKET, name)
    return now < 0 ? fail(now) : now
  }

  getSendQueueSize(): number {
    return this.#waitingBytes
  }

  getSendQueueCount(): number {
    return this.#waiting.length
  }

  ref(): void {
    this.#referenced = true
    this.#reading?.ref()
    this.#writing?.ref()
  }

  unref(): void {
    this.#referenced = false
    this.#reading?.unref()
    this.#writing?.unref()
  }

  getAsyncId(): number {
    return this.#resource.asyncId()
  }

  close(): void {
    this.recvStop()
    this.#writing?.()
    this.#writing = undefined
    this.#waiting = []
    this.#socket?.close()
    this.#socket = undefined
    this.#resource.emitDestroy()
  }
}
