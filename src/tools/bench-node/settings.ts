/** What is measured: a node-type in one of its modes, values of a sample, samples per second. */
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../gateway/index.ts'

export interface NodeSettings {
  readonly node: NodeName
  readonly mode: string
  readonly values: number
  readonly rate: number
}

/** The modes of each node-type; the first one is measured without --mode. */
export const nodeModes = {
  loopback: ['polling', 'eventfd'],
  infiniband: ['RC', 'UC', 'UD'],
  socket: ['udp', 'tcp', 'unix'],
  websocket: ['binary'],
  zeromq: ['pubsub'],
} as const
export type NodeName = keyof typeof nodeModes
export const nodeNames = Object.keys(nodeModes) as NodeName[]
export const modeNames: readonly string[] = [...new Set(Object.values(nodeModes).flat())]

/** The nodes under test: what is written to, and what is read. */
export interface UnderTest {
  readonly sender: Settings
  /** Null: what is read is the sender itself. */
  readonly receiver: Settings | null
}

/** Queues that a burst fits into, so that what is lost is lost by the node. */
const queueLength = 8192
const workRequests = 4096

/** Settings of the nodes; ports and paths are free ones. */
export async function underTest({ node, mode, values }: NodeSettings, device: string | undefined): Promise<UnderTest> {
  const signals = `${values}f`
  if (node === 'loopback') return { sender: { type: node, mode, queuelen: queueLength }, receiver: null }
  const [here, there] = [await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`) as [string, string]
  if (node === 'infiniband') {
    const shared = { type: node, rdma_transport_mode: mode, ...(device !== undefined && { device }) }
    const queue = { max_wrs: workRequests, cq_size: 8192 }
    const receives = { ...queue, buffer_subtraction: 128, signals }
    return {
      sender: { ...shared, in: { address: here, signals }, out: { ...queue, address: there, max_inline_data: 128 } },
      receiver: { ...shared, in: { ...receives, address: there } },
    }
  }
  if (node === 'socket') {
    // Not below the results: such a path has 107 bytes at most.
    const place = mode === 'unix' ? join(tmpdir(), `verbena-bench-node-${process.pid}.sock`) : there
    const layers = mode === 'tcp' ? ['tcp-client', 'tcp-server'] : [mode, mode]
    return {
      sender: { type: node, layer: layers[0], out: { address: place } },
      receiver: { type: node, layer: layers[1], in: { address: place, signals } },
    }
  }
  if (node === 'zeromq')
    return {
      sender: { type: node, out: { publish: `tcp://${there}` } },
      receiver: { type: node, in: { subscribe: `tcp://${there}`, signals } },
    }
  const port = Number(there.slice(there.indexOf(':') + 1))
  return {
    sender: { type: node, destinations: [`ws://${there}/receiver`] },
    receiver: { type: node, in: { signals }, port, address: '127.0.0.1' },
  }
}

/** A port of this host that nobody listens on now. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
