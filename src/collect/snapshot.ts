/** One reading of all RDMA devices of a host: those of the kernel, with what their network drivers add, and our own. */
import { type DriverName, hardwareCounter } from '../counters/index.ts'
import { getDeviceList, openDevice, publishedCounters } from '../index.ts'
import { readEthtool } from './ethtool.ts'
import { type Device, type OtherReading, type Port, type Reading, readDevices } from './infiniband.ts'
import { withQueuePairs, withStatistics } from './rdma-statistic.ts'
import { Tree, type TreeProblem } from './tree.ts'

export interface HostReading {
  /** Milliseconds since 1970. */
  readonly timeMs: number
  /** By a clock that does not go back. */
  readonly atMs: number
  readonly devices: readonly Device[]
  readonly problems: readonly TreeProblem[]
  /** All of them; `problems` has the first thousand. */
  readonly problemCount: number
}

export interface HostOptions {
  /** A recorded tree instead of this host: see `Tree`. */
  readonly root?: string
  /** Names of devices, empty for all. */
  readonly devices?: readonly string[]
  /** Numbers of ports, empty for all. */
  readonly ports?: readonly number[]
  /** Counters of queue pairs, too. Default: false. */
  readonly queuePairs?: boolean
}

/** Never rejects: what cannot be read is in `problems`. */
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

/** What the driver of the network adds; where both have a counter, that of the RDMA driver. */
function withEthtool(tree: Tree, port: Port, netdev: string): Port {
  const known = new Set(port.readings.map(({ counter }) => counter))
  const more = readEthtool(tree, netdev).filter(({ counter }) => !known.has(counter))
  return { ...port, readings: [...port.readings, ...more] }
}

const driver: DriverName = 'verbena'

/** Devices of running processes of this user, as they publish them, and segments of shared memory. */
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
      // It went while it was looked at.
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
