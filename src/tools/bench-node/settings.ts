/** The settings that are measured: a node-type in one of its modes, values of a sample, samples per second, and how. */
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../gateway/index.ts'
import { nativeAvailable } from '../../memory/index.ts'

export interface NodeSettings {
  readonly node: NodeName
  readonly mode: string
  readonly values: number
  /** Samples per second. */
  readonly rate: number
  /** Timer of the generator. */
  readonly timer: TimerName
  /** Kind of generator and receiver: threads of one process, or processes. */
  readonly ends: Ends
  /** Device of an infiniband node. */
  readonly device?: string
  readonly maxInlineData?: number
  readonly periodicSignaling?: number
  readonly bufferSubtraction?: number
}

/** Modes of each node-type; the first one is measured without --mode. */
export const nodeModes = {
  loopback: ['polling', 'eventfd'],
  infiniband: ['RC', 'UC', 'UD'],
  shmem: ['polling', 'pthread'],
  socket: ['udp', 'tcp', 'unix'],
  websocket: ['binary'],
  zeromq: ['pubsub'],
} as const
export type NodeName = keyof typeof nodeModes
export const nodeNames = Object.keys(nodeModes) as NodeName[]
export const modeNames: readonly string[] = [...new Set(Object.values(nodeModes).flat())]

export const timerNames = ['hybrid', 'tsc', 'timerfd'] as const
export type TimerName = (typeof timerNames)[number]
export type Ends = 'threads' | 'processes'

/** Returns the ends of a run as requested, except for a loopback, which has both in one process. */
export function endsOf(node: NodeName, asked: Ends): Ends {
  return node === 'loopback' ? 'threads' : asked
}

/** Nodes under test: the one that is written to, and the one that is read. */
export interface UnderTest {
  readonly sender: Settings
  /** Settings of the node that is read; null: the sender itself is read. */
  readonly receiver: Settings | null
  /** True if both nodes have the state "connected" when samples pass; else they need no connection. */
  readonly connects: boolean
}

/** Length of queues that a burst fits into, so that only the node loses samples. */
const queueLength = 8192
const workRequests = 4096
/** Values of Potter (2018). */
const usualInfiniband = { maxInlineData: 128, bufferSubtraction: 128 } as const

/** Returns the device to open. `shm`: an adapter in shared memory for this benchmark alone. */
function deviceName(device: string): string {
  if (device !== 'shm') return device
  return nativeAvailable ? `shm:bench-node-${process.pid}` : 'shm0'
}

/** Returns the settings of the nodes, with free ports, names and paths. */
export async function underTest(settings: NodeSettings): Promise<UnderTest> {
  const { node, mode, values } = settings
  const signals = `${values}f`
  if (node === 'loopback')
    return { sender: { type: node, mode, queuelen: queueLength }, receiver: null, connects: false }
  if (node === 'shmem') {
    const name = `/bench-node-${process.pid}`
    const shared = { type: node, mode, queuelen: queueLength }
    return { sender: { ...shared, out: { name } }, receiver: { ...shared, in: { name, signals } }, connects: true }
  }
  const [here, there] = [await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`) as [string, string]
  if (node === 'infiniband') return infiniband(settings, here, there)
  if (node === 'socket') {
    // A socket path has at most 107 bytes, so it is not below the results.
    const place = mode === 'unix' ? join(tmpdir(), `verbena-bench-node-${process.pid}.sock`) : there
    const layers = mode === 'tcp' ? ['tcp-client', 'tcp-server'] : [mode, mode]
    return {
      sender: { type: node, layer: layers[0], out: { address: place } },
      receiver: { type: node, layer: layers[1], in: { address: place, signals } },
      connects: mode === 'tcp',
    }
  }
  if (node === 'zeromq')
    return {
      sender: { type: node, out: { publish: `tcp://${there}` } },
      receiver: { type: node, in: { subscribe: `tcp://${there}`, signals } },
      connects: true,
    }
  const port = Number(there.slice(there.indexOf(':') + 1))
  return {
    sender: { type: node, destinations: [`ws://${there}/receiver`] },
    receiver: { type: node, in: { signals }, port, address: '127.0.0.1' },
    connects: true,
  }
}

function infiniband(settings: NodeSettings, here: string, there: string): UnderTest {
  const { mode, values, device = 'shm', periodicSignaling } = settings
  const { maxInlineData, bufferSubtraction } = { ...usualInfiniband, ...settings }
  const signals = `${values}f`
  // With loopback addresses, `roce` has one device for each address.
  const shared = {
    type: settings.node,
    rdma_transport_mode: mode,
    ...(device !== 'roce' && { device: deviceName(device) }),
  }
  const queue = { max_wrs: workRequests, cq_size: queueLength }
  const out = {
    ...{ ...queue, address: there, max_inline_data: maxInlineData },
    ...(periodicSignaling !== undefined && { periodic_signaling: periodicSignaling }),
  }
  return {
    sender: { ...shared, in: { address: here, signals }, out },
    receiver: { ...shared, in: { ...queue, buffer_subtraction: bufferSubtraction, signals, address: there } },
    connects: true,
  }
}

/** Returns a port of this host on which no process listens now. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
