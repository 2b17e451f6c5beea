/** TCP of the kernel on loopback, by its system calls, as a C program such as netperf does. */
import { IPPROTO_TCP, MSG_DONTWAIT, SHUT_WR, SO_RCVBUF, SO_SNDBUF, SOL_SOCKET, TCP_NODELAY } from '../../index.ts'
import { errnoName, errnos, KernelSocket } from '../../memory/index.ts'
import {
  type ByteStream,
  connectTimeoutMs,
  type Meeting,
  type Opening,
  type StreamRequest,
  sleepMs,
} from './byte-stream.ts'
import { Part } from './part.ts'

const loopback = Uint8Array.of(127, 0, 0, 1)

export function openTcp(request: StreamRequest): Opening {
  const socket = makeSocket(request)
  if (request.server) {
    socket.bind(loopback, 0)
    socket.listen(1)
  }
  let taken = false
  return {
    meeting: { port: socket.localPort() },
    connect(other: Meeting): ByteStream {
      socket.setTimeout(connectTimeoutMs)
      const result = request.server ? socket.accept() : socket.connect(loopback, other.port as number)
      if (typeof result === 'number' && result < 0)
        throw new Error(`no TCP connection on loopback: ${errnoName(-result)}`)
      taken = result === 0
      return new TcpStream(typeof result === 'number' ? socket : result, request)
    },
    close() {
      if (!taken) socket.close()
    },
  }
}

/** Opens a socket. Sizes of buffers apply to connections if they are set before. */
function makeSocket({ bufferBytes }: StreamRequest): KernelSocket {
  const socket = KernelSocket.open({ family: 4, blocking: true })
  if (bufferBytes > 0) for (const name of [SO_SNDBUF, SO_RCVBUF]) socket.setOption(SOL_SOCKET, name, bufferBytes / 2)
  return socket
}

class TcpStream implements ByteStream {
  private readonly socket: KernelSocket
  private readonly flags: number
  private readonly outgoing: Part
  private readonly incoming: Part
  private sends = 0
  private receives = 0
  private empty = 0

  constructor(socket: KernelSocket, { busy, noDelay, memoryBytes }: StreamRequest) {
    this.socket = socket
    this.flags = busy ? MSG_DONTWAIT : 0
    this.outgoing = new Part(new Uint8Array(new SharedArrayBuffer(memoryBytes)).fill(65))
    this.incoming = new Part(new Uint8Array(new SharedArrayBuffer(memoryBytes)))
    if (noDelay) socket.setOption(IPPROTO_TCP, TCP_NODELAY, 1)
    socket.setTimeout(sleepMs)
  }

  send(at: number, length: number): number {
    const n = this.socket.send(this.outgoing.of(at, length), this.flags)
    this.sends++
    return n >= 0 ? n : this.failed('send', n)
  }

  recv(length: number): number {
    const n = this.socket.recv(this.incoming.of(0, length), this.flags)
    this.receives++
    if (n > 0) return n
    return n === 0 ? -1 : this.failed('recv', n)
  }

  /** Returns at once: the call itself waits, or the next one polls. */
  wait(): void {}

  private failed(call: string, errno: number): number {
    if (errno !== -errnos.EAGAIN && errno !== -errnos.EINTR) throw new Error(`TCP ${call}: ${errnoName(-errno)}`)
    this.empty++
    return 0
  }

  shutdownWrite(): void {
    this.socket.shutdown(SHUT_WR)
  }

  counters(): Record<string, number> {
    return { sendCalls: this.sends, recvCalls: this.receives, emptyCalls: this.empty }
  }

  close(): void {
    this.socket.close()
  }
}
