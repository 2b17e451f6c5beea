/**
 * TCP through node:net, where system calls are not available (without koffi): the measurement then includes the event loop and
 * the streams of Node.js.
 */
import { once } from 'node:events'
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net'
import { nowNs } from '../../memory/index.ts'
import { Control, stopText } from '../bench-thread/index.ts'
import { connectTimeoutMs, type Meeting, type StreamRequest } from './byte-stream.ts'
import { type CpuUse, cpuNow, cpuSince, noCpu } from './cpu.ts'
import type { LoopRequest, LoopResult } from './loops.ts'

const writesPerTurn = 64

export class NodeEnd {
  readonly #request: StreamRequest
  readonly #control: Int32Array
  #server: Server | null = null
  #socket: Socket | null = null
  #accepted: Promise<Socket> | null = null
  #bytesSent = 0
  #bytesReceived = 0

  constructor(request: StreamRequest, control: Int32Array) {
    this.#request = request
    this.#control = control
  }

  async open(): Promise<Meeting> {
    if (!this.#request.server) return {}
    const server = createServer({ allowHalfOpen: true })
    this.#server = server
    this.#accepted = once(server, 'connection', { signal: AbortSignal.timeout(connectTimeoutMs) }).then(
      ([socket]) => socket as Socket,
    )
    this.#accepted.catch(() => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { port: (server.address() as { port: number }).port }
  }

  async connect({ port }: Meeting): Promise<void> {
    if (this.#accepted) this.#socket = await this.#accepted
    else {
      this.#socket = connectSocket({ port: port as number, host: '127.0.0.1', allowHalfOpen: true })
      await once(this.#socket, 'connect', { signal: AbortSignal.timeout(connectTimeoutMs) })
    }
    this.#socket.setNoDelay(this.#request.noDelay)
    this.#socket.on('data', (chunk: Buffer) => {
      this.#bytesReceived += chunk.length
    })
    // Data that the other end sends before this one runs stays in the socket.
    this.#socket.pause()
  }

  async run(request: LoopRequest): Promise<LoopResult> {
    const { client, test } = request
    this.#socket!.resume()
    if (!client) return await this.#serve(request)
    return test === 'rr' ? await this.#requests(request) : await this.#pour(request)
  }

  async #requests({ sizeBytes, warmupNs, durationNs, timed }: LoopRequest): Promise<LoopResult> {
    const socket = this.#socket!
    const message = Buffer.alloc(sizeBytes, 65)
    const times: number[] = []
    const began = nowNs()
    let cpu = cpuNow()
    let fromNs = 0
    let messages = 0
    let before = began
    let left = sizeBytes
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject)
      socket.on('end', resolve)
      socket.on('data', (chunk: Buffer) => {
        left -= chunk.length
        if (left > 0) return
        left = sizeBytes
        const now = nowNs()
        if (fromNs !== 0) {
          messages++
          if (times.length < timed) times.push(now - before)
        } else if (now - began >= warmupNs) {
          cpu = cpuNow()
          fromNs = now
        }
        before = now
        if ((fromNs !== 0 && now - fromNs >= durationNs) || this.#stopped()) resolve()
        else this.#write(message)
      })
      this.#write(message)
    })
    const toNs = nowNs()
    const use = cpuSince(cpu, toNs - fromNs)
    await this.#finish()
    return this.#result({ messages, cpu: use, fromNs, toNs, roundTripsNs: Float64Array.from(times) })
  }

  async #pour({ sizeBytes, warmupNs, durationNs }: LoopRequest): Promise<LoopResult> {
    const message = Buffer.alloc(sizeBytes, 65)
    const began = nowNs()
    let cpu = noCpu
    let fromNs = 0
    let messages = 0
    for (;;) {
      let room = true
      for (let i = 0; i < writesPerTurn && room; i++) {
        room = this.#write(message)
        messages++
      }
      if (!room) await once(this.#socket!, 'drain')
      else await new Promise(setImmediate)
      const now = nowNs()
      if (fromNs === 0 && now - began >= warmupNs) {
        cpu = cpuNow()
        fromNs = now
        messages = 0
      } else if (fromNs !== 0 && now - fromNs >= durationNs) break
      if (this.#stopped()) break
    }
    await this.#finish()
    const toNs = nowNs()
    return this.#result({ messages, cpu: cpuSince(cpu, toNs - fromNs), fromNs, toNs })
  }

  async #serve({ test, sizeBytes, warmupNs }: LoopRequest): Promise<LoopResult> {
    const socket = this.#socket!
    const message = Buffer.alloc(sizeBytes, 65)
    let began = 0
    let fromNs = 0
    let cpu = noCpu
    let left = sizeBytes
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject)
      socket.on('end', resolve)
      socket.on('data', (chunk: Buffer) => {
        if (fromNs === 0) {
          const now = nowNs()
          began ||= now
          if (now - began >= warmupNs) {
            cpu = cpuNow()
            fromNs = now
          }
        }
        if (test === 'stream') return
        left -= chunk.length
        if (left > 0) return
        left = sizeBytes
        this.#write(message)
      })
    })
    const toNs = nowNs()
    const use = fromNs === 0 ? noCpu : cpuSince(cpu, toNs - fromNs)
    socket.end()
    return this.#result({ messages: 0, cpu: use, fromNs, toNs })
  }

  #write(message: Buffer): boolean {
    this.#bytesSent += message.length
    return this.#socket!.write(message)
  }

  #stopped(): boolean {
    return Atomics.load(this.#control, Control.stop) !== 0
  }

  async #finish(): Promise<void> {
    const socket = this.#socket!
    const ended = socket.readableEnded ? null : once(socket, 'end')
    socket.end()
    await ended
  }

  #result(part: {
    messages: number
    cpu: CpuUse
    fromNs: number
    toNs: number
    roundTripsNs?: Float64Array
  }): LoopResult {
    const error = stopText(Atomics.load(this.#control, Control.stop))
    return {
      roundTripsNs: new Float64Array(0),
      ...part,
      seconds: (part.toNs - part.fromNs) / 1e9,
      bytesSent: this.#bytesSent,
      bytesReceived: this.#bytesReceived,
      counters: {},
      ...(error === undefined ? {} : { error }),
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#server?.close()
  }
}
