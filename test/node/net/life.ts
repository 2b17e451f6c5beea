/** A connection from its beginning to its end, both in this thread, and what that asks of the segment. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { Context } from '../../../src/index.ts'
import * as net from '../../../src/net.ts'
import { watchCalls } from './calls.ts'

export class Lives {
  readonly #server: Server
  readonly #where: { device: string; host: string; port: number }

  private constructor(server: Server, device: string, host: string) {
    this.#server = server
    this.#where = { device, host, port: (server.address() as AddressInfo).port }
  }

  static async begin(device: string, host = '127.0.0.1'): Promise<Lives> {
    const server = net.createServer({ device }, (socket) => {
      socket.resume()
      socket.on('end', () => socket.end())
    })
    server.listen(0, host)
    await once(server, 'listening')
    return new Lives(server, device, host)
  }

  /** Connects and closes. */
  async one(): Promise<void> {
    const socket = net.connect(this.#where)
    socket.resume()
    await once(socket, 'connect')
    socket.end()
    await once(socket, 'close')
  }

  async end(): Promise<void> {
    this.#server.close()
    await once(this.#server, 'close')
  }
}

const counted = ['lock', 'passLock', 'quiesce', 'bumpEpoch', 'beginGrace', 'allocate'] as const
export type Counts = Record<(typeof counted)[number], number>

/** How often `body` calls these, in the segment of a device. */
export async function counting(context: Context, body: () => Promise<void>): Promise<Counts> {
  const { segment } = context.device.host
  const counts = Object.fromEntries(counted.map((name) => [name, 0])) as Counts
  const end = watchCalls(segment, counted, (name) => counts[name as keyof Counts]++)
  try {
    await body()
  } finally {
    end()
  }
  return counts
}
