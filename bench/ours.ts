/** Our side of the comparison: two threads, each with one end of a connection. */

import type { QpEndpoint } from '../src/index.ts'
import { currentCores, entryModule } from '../src/memory/index.ts'
import { Control, newControl, resetControl, Stop } from '../src/tools/bench-thread/index.ts'
import { Peer } from '../src/tools/kit/index.ts'
import type { PingPongResult, RunRequest, StreamResult } from './loops.ts'
import type { EndRequest, LineRequest } from './pingpong.ts'
import type { PollResult } from './polling.ts'

const callTimeoutMs = 60_000

/** Two cores to pin the two sides to, or null where that is not possible. */
export function twoCores(): readonly [number, number] | null {
  const cores = currentCores()
  return cores.length >= 2 ? [cores[0]!, cores[1]!] : null
}

export class Ours {
  readonly #control = newControl()
  #client: Peer | null = null
  #server: Peer | null = null

  async pingPong(sizeBytes: number, iterations: number): Promise<PingPongResult> {
    return await this.#run<PingPongResult>('pingPong', sizeBytes, iterations)
  }

  async stream(sizeBytes: number, iterations: number): Promise<StreamResult> {
    return await this.#run<StreamResult>('stream', sizeBytes, iterations)
  }

  /** Bytes of heap that a message of 8 bytes costs. */
  async allocation(iterations: number): Promise<number> {
    const { bytesPerMessage } = await this.#run<{ bytesPerMessage: number }>('allocation', 8, iterations)
    return bytesPerMessage
  }

  /** Nanoseconds of a cache line from one thread to the other, on the cores of the other measurements. */
  async line(iterations: number): Promise<number> {
    const words = new Int32Array(new SharedArrayBuffer(4096))
    const cores = twoCores()
    const { client, server } = this.#start()
    const ends = [client, server].map((peer, i) => {
      const request: LineRequest = { words, client: i === 0, iterations, core: cores?.[i] ?? null }
      return peer.call<{ oneWayNs: number }>('line', request, callTimeoutMs)
    })
    const [result] = await Promise.all(ends)
    return result!.oneWayNs
  }

  async polling(qpCount: number): Promise<PollResult> {
    const peer = new Peer('polling', entryModule(import.meta.url, './polling'))
    try {
      return await peer.call<PollResult>('measure', qpCount, callTimeoutMs)
    } finally {
      await peer.terminate()
    }
  }

  /** Both threads, which may go on from now on. */
  #start(): { client: Peer; server: Peer } {
    resetControl(this.#control)
    Atomics.store(this.#control, Control.stop, Stop.run)
    this.#client ??= new Peer('client', entryModule(import.meta.url, './pingpong'), { control: this.#control })
    this.#server ??= new Peer('server', entryModule(import.meta.url, './pingpong'), { control: this.#control })
    return { client: this.#client, server: this.#server }
  }

  async #run<T>(what: string, sizeBytes: number, iterations: number): Promise<T> {
    const { client, server } = this.#start()
    const cores = twoCores()
    const request: EndRequest = { device: 'shm0', sizeBytes, core: cores?.[0] ?? null }
    try {
      const [a, b] = await Promise.all([
        client.call<{ endpoint: QpEndpoint }>('prepare', request, callTimeoutMs),
        server.call<{ endpoint: QpEndpoint }>(
          'prepare',
          { ...request, device: 'shm1', core: cores?.[1] ?? null },
          callTimeoutMs,
        ),
      ])
      await Promise.all([
        client.call('connect', b.endpoint, callTimeoutMs),
        server.call('connect', a.endpoint, callTimeoutMs),
      ])
      const run = (peer: Peer, isClient: boolean) =>
        peer.call<T>(what, { client: isClient, iterations } satisfies RunRequest, callTimeoutMs).catch((failure) => {
          Atomics.store(this.#control, Control.stop, Stop.timeout)
          throw new Error(`${peer.name}: ${(failure as Error).message}`)
        })
      const [result, served] = await Promise.allSettled([run(client, true), run(server, false)])
      const failures = [result, served].flatMap((end) =>
        end.status === 'rejected' ? [(end.reason as Error).message] : [],
      )
      if (result.status === 'rejected' || failures.length > 0) throw new Error(failures.join('; '))
      await Promise.all([client.call('close', null, callTimeoutMs), server.call('close', null, callTimeoutMs)])
      return result.value
    } catch (failure) {
      await this.end()
      throw failure
    }
  }

  async end(): Promise<void> {
    Atomics.store(this.#control, Control.stop, Stop.interrupted)
    await Promise.all([this.#client?.terminate(), this.#server?.terminate()])
    this.#client = null
    this.#server = null
  }
}
