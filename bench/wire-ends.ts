/** Our side of the comparison on a network: two processes, each with an adapter of its own. */
import { entryModule } from '../src/memory/index.ts'
import type { BareAddress } from './bare-udp.ts'
import type { PingPongResult, RunRequest } from './loops.ts'
import { twoCores } from './ours.ts'
import { ProcessPeer } from './process-peer.ts'
import type { PourResult, WireEndpoint, WireEndRequest } from './wire-end.ts'

const callTimeoutMs = 60_000
/** A measurement takes about so long. */
const measureNs = 1e9
const calibration = 2_000

export class WireEnds {
  readonly devices: readonly [string, string]
  #client: ProcessPeer | null = null
  #server: ProcessPeer | null = null

  constructor(devices: readonly [string, string]) {
    this.devices = devices
  }

  async pingPong(sizeBytes: number): Promise<PingPongResult> {
    return await this.#connected({ operation: 'send', sizeBytes, connections: 1 }, (client, server) =>
      calibrated('pingPong', client, server),
    )
  }

  /** Datagrams between the addresses of the adapters, without adapters. */
  async pingPongBare(): Promise<PingPongResult> {
    return await this.#connected({ operation: 'send', sizeBytes: 8, connections: 1 }, async (client, server) => {
      const [a, b] = (await all([
        client.call<BareAddress>('openBare', null, callTimeoutMs),
        server.call<BareAddress>('openBare', null, callTimeoutMs),
      ])) as [BareAddress, BareAddress]
      await all([client.call('connectBare', b, callTimeoutMs), server.call('connectBare', a, callTimeoutMs)])
      const result = await calibrated('pingPongBare', client, server)
      await all([client.call('closeBare', null, callTimeoutMs), server.call('closeBare', null, callTimeoutMs)])
      return result
    })
  }

  async pour(operation: 'send' | 'write', sizeBytes: number, connections: number): Promise<PourResult> {
    return await this.#connected({ operation, sizeBytes, connections }, async (client, server) => {
      const [result] = await all([
        client.call<PourResult>('pour', { durationNs: measureNs }, callTimeoutMs),
        server.call('absorb', null, callTimeoutMs),
      ])
      return result as PourResult
    })
  }

  async #connected<T>(
    request: Omit<WireEndRequest, 'device' | 'core'>,
    work: (client: ProcessPeer, server: ProcessPeer) => Promise<T>,
  ): Promise<T> {
    const module = entryModule(import.meta.url, './wire-end')
    this.#client ??= new ProcessPeer('client', module)
    this.#server ??= new ProcessPeer('server', module)
    const client = this.#client
    const server = this.#server
    const cores = twoCores()
    const own = (i: 0 | 1): WireEndRequest => ({ ...request, device: this.devices[i], core: cores?.[i] ?? null })
    try {
      const [a, b] = (await all([
        client.call<WireEndpoint>('prepare', own(0), callTimeoutMs),
        server.call<WireEndpoint>('prepare', own(1), callTimeoutMs),
      ])) as [WireEndpoint, WireEndpoint]
      await all([client.call('connect', b, callTimeoutMs), server.call('connect', a, callTimeoutMs)])
      const result = await work(client, server)
      await all([client.call('close', null, callTimeoutMs), server.call('close', null, callTimeoutMs)])
      return result
    } catch (failure) {
      await this.end()
      throw failure
    }
  }

  async end(): Promise<void> {
    await Promise.all([this.#client?.end(), this.#server?.end()])
    this.#client = null
    this.#server = null
  }

  /** For a comparison that is interrupted. */
  kill(): void {
    this.#client?.kill()
    this.#server?.kill()
  }
}

/** As many ping-pongs as take a while. */
async function calibrated(method: string, client: ProcessPeer, server: ProcessPeer): Promise<PingPongResult> {
  const run = async (iterations: number): Promise<PingPongResult> => {
    const request = (isClient: boolean): RunRequest => ({ client: isClient, iterations })
    const [result] = await all([
      client.call<PingPongResult>(method, request(true), callTimeoutMs),
      server.call(method, request(false), callTimeoutMs),
    ])
    return result as PingPongResult
  }
  const { averageNs } = await run(calibration)
  return await run(Math.max(calibration, Math.round(measureNs / 2 / averageNs)))
}

/** Fails as soon as one end fails: the other may poll for ever then. */
async function all(calls: [Promise<unknown>, Promise<unknown>]): Promise<[unknown, unknown]> {
  return await Promise.all(calls)
}
