/** TCP of the kernel on loopback, by its system calls: what a C program such as netperf does. */
import { errnoName, errnos, TcpListener, TcpSocket } from '../../memory/index.ts'
import {
  type ByteStream,
  connectTimeoutMs,
  type Meeting,
  type Opening,
  type StreamRequest,
  sleepMs,
} from './byte-stream.ts'

const loopback = Uint8Array.of(127, 0, 0, 1)

export function openTcp(request: StreamRequest): Opening {
  const listener = request.server ? new TcpListener(loopback, request.bufferBytes) : null
  return {
    meeting: { port: listener?.port ?? 0 },
    connect(other: Meeting): ByteStream {
      const memory = new SharedArrayBuffer(2 * request.memoryBytes)
      const socket = listener
        ? listener.accept(memory, connectTimeoutMs)
        : TcpSocket.connect(memory, loopback, other.port as number, request.bufferBytes)
      return new TcpStream(socket, request)
    },
    close() {
      listener?.close()
    },
  }
}

class TcpStream implements ByteStream {
  private readonly socket: TcpSocket
  private readonly waits: boolean
  private readonly inbox: number
  private sends = 0
  private receives = 0
  private empty = 0

  constructor(socket: TcpSocket, { busy, noDelay, memoryBytes }: StreamRequest) {
    this.socket = socket
    this.waits = !busy
    this.inbox = memoryBytes
    if (noDelay) socket.setNoDelay()
    socket.setTimeout(sleepMs)
  }

  send(at: number, length: number): number {
    const n = this.socket.send(at, length, this.waits)
    this.sends++
    return n >= 0 ? n : this.failed('send', n)
  }

  recv(length: number): number {
    const n = this.socket.recv(this.inbox, length, this.waits)
    this.receives++
    if (n > 0) return n
    return n === 0 ? -1 : this.failed('recv', n)
  }

  /** The call itself waits, or the next one polls. */
  wait(): void {}

  private failed(call: string, errno: number): number {
    if (errno !== -errnos.EAGAIN && errno !== -errnos.EINTR) throw new Error(`TCP ${call}: ${errnoName(-errno)}`)
    this.empty++
    return 0
  }

  shutdownWrite(): void {
    this.socket.shutdownWrite()
  }

  counters(): Record<string, number> {
    return { sendCalls: this.sends, recvCalls: this.receives, emptyCalls: this.empty }
  }

  close(): void {
    this.socket.close()
  }
}
