/** One reading of all RDMA devices of a host: those of the kernel, with the counters of their network drivers, and our own. */
import { type DriverName, hardwareCounter } from '../counters/index.ts'
import { getDeviceList, openDevice, publishedCounters } from '../index.ts'
import { readEthtool } from './ethtool.ts'
import { type Device, type OtherReading, type Port, type Reading, readDevices } from './infiniband.ts'
import { withQueuePairs, withStatistics } from './rdma-statistic.ts'
import { Tree, type TreeProblem } from './tree.ts'

export interface HostReading {
  /** Milliseconds since 1970. */
  readonly timeMs: number
  /** Milliseconds of a monotonic clock. */
  readonly atMs: number
  readonly devices: readonly Device[]
  readonly problems: readonly TreeProblem[]
  /** Number of all problems; `problems` has the first thousand. */
  readonly problemCount: number
}

export interface HostOptions {
  /** Path of a recorded tree instead of this host: see `Tree`. */
  readonly root?: string
  /** Names of devices, empty for all. */
  readonly devices?: readonly string[]
  /** Numbers of ports, empty for all. */
  readonly ports?: readonly number[]
  /** Flag: counters of queue pairs are read, too. Default: false. */
  readonly queuePairs?: boolean
}

/** Reads a host. Never rejects: files that cannot be read are in `problems`. */
export async function readHost({
  root,
  devices = [],
  ports = [],
  queuePairs = false,
}: HostOptions = {}): Promise<HostReading> {
  const tree = new Tree(root)
  const wanted = (device: string, port: number): boolean =>
    (devices.length === 0 || devices.includes(device)) && (port === 0 || ports.length === 0 || ports.includes(port))
  const counted = await withStatistics(tree, readDevices(tree, wanted, false))
  const ofKernel = (queuePairs ? await withQueuePairs(tree, counted) : counted).map((device) => ({
    ...device,
    ports: device.ports.map((port) => (port.netdev === undefined ? port : withEthtool(tree, port, port.netdev))),
  }))
  const own = tree.live ? ownDevices().filter(({ name }) => wanted(name, 1)) : []
  return {
    timeMs: Date.now(),
    atMs: performance.now(),
    devices: [...ofKernel, ...own],
    problems: tree.problems,
    problemCount: tree.problemCount,
  }
}

/** Adds the counters of the network driver; if both drivers have a counter, that of the RDMA driver is kept. */
function withEthtool(tree: Tree, port: Port, netdev: string): Port {
  const known = new Set(port.readings.map(({ counter }) => counter))
  const more = readEthtool(tree, netdev).filter(({ counter }) => !known.has(counter))
  return { ...port, readings: [...port.readings, ...more] }
}

const driver: DriverName = 'verbena'

/** Returns the published devices of running processes of this user, and segments of shared memory. */
function ownDevices(): Device[] {
  const found = new Map<string, Record<string, number>>()
  for (const { devices } of publishedCounters()) for (const { name, counters } of devices) found.set(name, counters)
  for (const { name } of getDeviceList()) {
    if (!name.startsWith('shm:')) continue
    try {
      const context = openDevice(name, { existing: true })
      found.set(name, context.counters())
      context.close()
    } catch {
      // It disappeared while it was read.
    }
  }
  return [...found].map(([name, counters]) => ({
    name,
    driver,
    ...{ firmware: undefined, board: undefined, hcaType: undefined, nodeGuid: undefined, description: undefined },
    ports: [ownPort(name, counters)],
  }))
}

function ownPort(name: string, counters: Record<string, number>): Port {
  const readings: Reading[] = []
  const others: OtherReading[] = []
  for (const [counter, count] of Object.entries(counters)) {
    if (!Number.isSafeInteger(count) || count < 0) continue
    const mapping = hardwareCounter(driver, counter)
    const [value, source] = [BigInt(count), `verbena/${counter}`]
    if (mapping === undefined) others.push({ source, value })
    else readings.push({ counter: mapping.counter, value, raw: value, mapping, source, lifespanMs: 1000 })
  }
  return {
    port: 1,
    linkLayer: name.startsWith('roce') ? 'Ethernet' : 'InfiniBand',
    ...{ state: undefined, physicalState: undefined, rate: undefined, bytesPerSecond: undefined, lid: undefined },
    ...{ netdev: undefined, lifespanMs: undefined, gids: [], readings, others },
  }
}
