/** Rsockets, with their own calls: blocking or non-blocking. */
import {
  AF_INET,
  AF_INET6,
  Errno,
  errnoName,
  errnoText,
  MSG_DONTWAIT,
  openDevice,
  POLLIN,
  POLLOUT,
  RDMA_EXTENSIONS,
  type RSocket,
  rsocket,
  SHUT_WR,
  SO_RCVBUF,
  SO_SNDBUF,
  SOCK_STREAM,
  SOL_RDMA,
  SOL_SOCKET,
} from '../../index.ts'
import { gidText } from '../kit/index.ts'
import {
  type ByteStream,
  connectTimeoutMs,
  type Meeting,
  type Opening,
  pollsOfWait,
  type StreamRequest,
} from './byte-stream.ts'
import { Part } from './part.ts'

export function openRsocket(request: StreamRequest): Opening {
  const address = addressOf(request.device)
  const listener = request.server ? makeSocket(address, request) : null
  if (listener) {
    check(listener.bind({ address, port: 0 }), 'bind', listener)
    check(listener.listen(1), 'listen', listener)
  }
  const name = listener?.getsockname()
  return {
    meeting: { address, port: typeof name === 'object' ? name.port : 0 },
    async connect(other: Meeting): Promise<ByteStream> {
      if (listener) return new RsocketStream(await accepted(listener), request)
      const address = other.address as string
      const socket = makeSocket(address, request)
      await socket.connectAsync({ address, port: other.port as number })
      return new RsocketStream(socket, request)
    },
    close() {
      if (listener && !listener.closed) listener.close()
    },
  }
}

/** Returns the address of an adapter, its GID: on `shm` too, where a loopback address means the caller's own adapter. */
function addressOf(device: string): string {
  const context = openDevice(device)
  const text = gidText(context.queryGid(1, 0))
  context.close()
  return text.startsWith('::ffff:') && text.includes('.') ? text.slice('::ffff:'.length) : text
}

function makeSocket(address: string, { device, bufferBytes, version1 }: StreamRequest): RSocket {
  const socket = rsocket(address.includes(':') ? AF_INET6 : AF_INET, SOCK_STREAM, 0, { device })
  socket.setsockopt(SOL_RDMA, RDMA_EXTENSIONS, version1 ? 0 : 1)
  if (bufferBytes > 0) {
    // The option doubles its value, as on Linux.
    socket.setsockopt(SOL_SOCKET, SO_SNDBUF, bufferBytes / 2)
    socket.setsockopt(SOL_SOCKET, SO_RCVBUF, bufferBytes / 2)
  }
  return socket
}

async function accepted(listener: RSocket): Promise<RSocket> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the other end did not connect')), connectTimeoutMs)
  })
  try {
    return await Promise.race([listener.acceptAsync(), late])
  } finally {
    clearTimeout(timer)
  }
}

function check(result: number, call: string, socket: RSocket): void {
  if (result < 0) throw new Error(`${call}: ${errnoName(result)}: ${socket.reason || errnoText(result)}`)
}

class RsocketStream implements ByteStream {
  private readonly socket: RSocket
  private readonly flags: number
  private readonly outgoing: Part
  private readonly incoming: Part

  constructor(socket: RSocket, { busy, memoryBytes, direct }: StreamRequest) {
    this.socket = socket
    this.flags = busy ? MSG_DONTWAIT : 0
    const outgoing = direct ? socket.alloc(memoryBytes) : new Uint8Array(memoryBytes)
    this.outgoing = new Part(outgoing.fill(65))
    this.incoming = new Part(new Uint8Array(memoryBytes))
  }

  send(at: number, length: number): number {
    const n = this.socket.send(this.outgoing.of(at, length), this.flags)
    return n >= 0 ? n : this.failed(n, 'send')
  }

  recv(length: number): number {
    const n = this.socket.recv(this.incoming.of(0, length), this.flags)
    if (n > 0) return n
    return n === 0 ? -1 : this.failed(n, 'recv')
  }

  private failed(errno: number, call: string): number {
    if (errno === -Errno.EAGAIN) return 0
    throw new Error(`rsocket ${call}: ${errnoName(errno)}: ${this.socket.reason || errnoText(errno)}`)
  }

  /** Returns at once: blocking calls have waited already. */
  wait(sending: boolean): void {
    const { socket } = this
    const events = sending ? POLLOUT : POLLIN
    for (let i = 0; i < pollsOfWait; i++) if (socket.poll(events) !== 0) return
  }

  shutdownWrite(): void {
    this.socket.shutdown(SHUT_WR)
  }

  counters(): Record<string, number> {
    return { ...this.socket.counters() }
  }

  close(): void {
    this.socket.close()
  }
}
