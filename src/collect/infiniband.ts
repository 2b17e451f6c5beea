/**
 * RDMA devices of the kernel, from /sys/class/infiniband: ports with state, rate, addresses and counters.
 * Source: Documentation/ABI/stable/sysfs-class-infiniband of Linux.
 */
import {
  type DriverName,
  driverOf,
  hardwareCounter,
  legacyCounter,
  type Mapping,
  portCounter,
} from '../counters/index.ts'
import type { Tree } from './tree.ts'

/** One counter, read once, in units of the vocabulary. */
export interface Reading {
  /** Name in the vocabulary. */
  readonly counter: string
  readonly value: bigint
  /** Value in the driver's units, and its mapping to the vocabulary. */
  readonly raw: bigint
  readonly mapping: Mapping
  /** File or statistic from which it was read: `counters/port_rcv_data`, `ethtool/rx_prio3_pause`. */
  readonly source: string
  readonly priority?: number
  /** Maximum age of the reading. */
  readonly lifespanMs: number
}

/** Counter that the vocabulary does not contain. */
export interface OtherReading {
  readonly source: string
  readonly value: bigint
}

/** Number with its name, as sysfs writes states: `4: ACTIVE`. */
export interface Named {
  readonly id: number
  readonly name: string
}

export interface Gid {
  readonly index: number
  readonly gid: string
  /** `IB/RoCE v1`, `RoCE v2`; undefined if the kernel does not report it. */
  readonly type: string | undefined
  readonly netdev: string | undefined
}

export interface Port {
  readonly port: number
  readonly linkLayer: string | undefined
  readonly state: Named | undefined
  readonly physicalState: Named | undefined
  /** `100 Gb/sec (4X EDR)` */
  readonly rate: string | undefined
  readonly bytesPerSecond: number | undefined
  readonly lid: number | undefined
  readonly netdev: string | undefined
  readonly lifespanMs: number | undefined
  /** GIDs without those that are zero; empty if they were not requested. */
  readonly gids: readonly Gid[]
  readonly readings: readonly Reading[]
  readonly others: readonly OtherReading[]
  /** Counters of queue pairs, if they were requested. */
  readonly queuePairs?: readonly QueuePairCounters[]
}

/** Set of counters that the kernel keeps for the queue pairs that are bound to it. */
export interface QueuePairCounters {
  readonly set: number
  readonly qpns: readonly number[]
  readonly type: string | undefined
  /** Process that owns the queue pairs; undefined if a part of the kernel does. */
  readonly pid: number | undefined
  readonly program: string | undefined
  readonly readings: readonly Reading[]
  readonly others: readonly OtherReading[]
}

export interface Device {
  readonly name: string
  /** Driver; undefined if its counters are not known. */
  readonly driver: DriverName | undefined
  readonly firmware: string | undefined
  readonly board: string | undefined
  readonly hcaType: string | undefined
  readonly nodeGuid: string | undefined
  readonly description: string | undefined
  readonly ports: readonly Port[]
}

const folder = 'sys/class/infiniband'
const emptyGid = /^[0:]*$/
/** fe80:: and nothing else: the default GID of a port without an address. */
const emptyLinkLocal = /^fe80:[0:]*$/

/**
 * Reads all devices, including those without ports; `wanted` selects by device and port. Tables of GIDs have up to a thousand entries
 * of three files each, so they are read only on request.
 */
export function readDevices(
  tree: Tree,
  wanted: (device: string, port: number) => boolean,
  withGids: boolean,
): Device[] {
  return tree.folders(folder).flatMap((name) => {
    const at = `${folder}/${name}`
    const ports = tree.list(`${at}/ports`).filter((port) => /^\d{1,3}$/.test(port))
    const chosen = ports.filter((port) => wanted(name, Number(port)))
    if (chosen.length === 0 && (ports.length > 0 || !wanted(name, 0))) return []
    const module =
      tree.linked(`${at}/device/driver`) ?? (tree.exists(`${at}/parent`) ? softwareDriver(tree, at) : undefined)
    const hardware = chosen.flatMap((port) => tree.list(`${at}/ports/${port}/hw_counters`))
    const driver = driverOf(module, name, hardware)
    return {
      name,
      driver,
      firmware: tree.optional(`${at}/fw_ver`),
      board: tree.optional(`${at}/board_id`),
      hcaType: tree.optional(`${at}/hca_type`),
      nodeGuid: tree.optional(`${at}/node_guid`),
      description: tree.optional(`${at}/node_desc`),
      ports: chosen.map((port) => readPort(tree, at, name, Number(port), driver, withGids)),
    }
  })
}

/** Returns the driver of a software device, a child of the interface named in the file `parent`; rxe has hardware counters, siw has not. */
function softwareDriver(tree: Tree, at: string): string | undefined {
  return tree.exists(`${at}/ports/1/hw_counters/sent_pkts`) ? 'rdma_rxe' : undefined
}

function readPort(
  tree: Tree,
  device: string,
  name: string,
  port: number,
  driver: DriverName | undefined,
  withGids: boolean,
): Port {
  const at = `${device}/ports/${port}`
  const rate = tree.optional(`${at}/rate`)
  const bytesPerSecond = rateOf(rate)
  if (rate !== undefined && bytesPerSecond === undefined) tree.problem(`${at}/rate`, 'is no rate')
  const lifespanMs = tree.number(`${at}/hw_counters/lifespan`, 0, 1e6)
  const gids = withGids ? readGids(tree, at) : []
  const { readings, others } = readCounters(tree, at, driver, lifespanMs ?? 0)
  return {
    port,
    linkLayer: tree.optional(`${at}/link_layer`),
    state: namedOf(tree, `${at}/state`),
    physicalState: namedOf(tree, `${at}/phys_state`),
    rate,
    bytesPerSecond,
    lid: tree.number(`${at}/lid`, 0, 0xffff),
    netdev: netdevOf(tree, device, port) ?? netdevNamed(tree, name),
    lifespanMs,
    gids,
    readings,
    others,
  }
}

function namedOf(tree: Tree, path: string): Named | undefined {
  const text = tree.optional(path)
  if (text === undefined) return undefined
  const [, id, name] = /^(\d{1,3}): ?([\w .()-]*)$/.exec(text) ?? []
  if (id !== undefined) return { id: Number(id), name: name! }
  tree.problem(path, 'is no state')
  return undefined
}

/** Returns the bytes per second of `100 Gb/sec (4X EDR)`. */
function rateOf(text: string | undefined): number | undefined {
  const [, gigabits] = /^(\d+(?:\.\d+)?) Gb\/sec\b/.exec(text ?? '') ?? []
  return gigabits === undefined ? undefined : (Number(gigabits) * 1e9) / 8
}

function readGids(tree: Tree, at: string): Gid[] {
  return tree.list(`${at}/gids`).flatMap((index) => {
    const path = `${at}/gids/${index}`
    // An unused entry returns an error in some kernels, zeros in others.
    const gid = tree.optional(path)
    if (gid === undefined || emptyGid.test(gid) || emptyLinkLocal.test(gid)) return []
    if (!/^([0-9a-f]{4}:){7}[0-9a-f]{4}$/i.test(gid) || !/^\d{1,4}$/.test(index)) {
      tree.problem(path, 'is no GID')
      return []
    }
    const type = tree.optional(`${at}/gid_attrs/types/${index}`)
    const netdev = tree.optional(`${at}/gid_attrs/ndevs/${index}`)
    return { index: Number(index), gid: gid.toLowerCase(), type, netdev }
  })
}

/** Returns the interface that carries a port: the parent of a software device, otherwise that of its PCI function or of its GIDs. */
function netdevOf(tree: Tree, device: string, port: number): string | undefined {
  const parent = tree.optional(`${device}/parent`)
  if (parent !== undefined) return parent
  const functions = tree.list(`${device}/device/net`)
  const ofPort = functions.find((name) => {
    const number = tree.number(`${device}/device/net/${name}/dev_port`)
    return number === port - 1
  })
  // A VLAN or a bond has GIDs as well; the first entries are those of the interface itself.
  const ofGid = (index: number): string | undefined => tree.optional(`${device}/ports/${port}/gid_attrs/ndevs/${index}`)
  return ofPort ?? ofGid(0) ?? ofGid(1) ?? (port === 1 ? functions[0] : undefined)
}

/** Returns, for a recorded tree without links, the name of an interface that has a device of this name below it. */
function netdevNamed(tree: Tree, name: string): string | undefined {
  return tree.list('sys/class/net').find((netdev) => tree.exists(`sys/class/net/${netdev}/device/infiniband/${name}`))
}

function readCounters(
  tree: Tree,
  at: string,
  driver: DriverName | undefined,
  lifespanMs: number,
): { readings: Reading[]; others: OtherReading[] } {
  const readings: Reading[] = []
  const others: OtherReading[] = []
  const known = new Set<string>()
  const read = (group: string, name: string, mapping: Mapping | undefined, ageMs: number): void => {
    const value = tree.counter(`${at}/${group}/${name}`)
    const source = `${group}/${name}`
    if (value === undefined) return
    if (mapping === undefined) others.push({ source, value })
    else if (!known.has(mapping.counter)) {
      known.add(mapping.counter)
      readings.push({
        counter: mapping.counter,
        value: value * BigInt(mapping.scale),
        ...{ raw: value, mapping, source, lifespanMs: ageMs },
      })
    }
  }
  for (const name of tree.list(`${at}/counters_ext`)) read('counters_ext', name, legacyCounter(name), 0)
  const plain = tree.list(`${at}/counters`)
  const extended = plain.includes('unicast_rcv_packets') || hasWide(tree, at, plain)
  for (const name of plain) read('counters', name, portCounter(name, extended), 0)
  for (const name of tree.list(`${at}/hw_counters`))
    if (name !== 'lifespan') read('hw_counters', name, hardwareCounter(driver, name), lifespanMs)
  return { readings, others }
}

/** True if a traffic counter exceeds 32 bits, which shows that the adapter has extended counters. */
function hasWide(tree: Tree, at: string, names: readonly string[]): boolean {
  const traffic = ['port_rcv_data', 'port_xmit_data'].filter((name) => names.includes(name))
  return traffic.some((name) => /^\d{11,20}$/.test(tree.optional(`${at}/counters/${name}`) ?? ''))
}
