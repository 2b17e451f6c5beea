/** RoCE configuration of a host: RDMA ports, their interfaces and GIDs, and the consequences of their settings. */
import { type CmDefaults, type Finding, interfaceFindings, pathMtuOf, portFindings } from './findings.ts'
import { type Device, type Gid, type Named, readDevices } from './infiniband.ts'
import { type Interface, readInterfaces } from './interfaces.ts'
import { Tree, type TreeProblem } from './tree.ts'

export interface L2Port {
  readonly device: string
  readonly port: number
  readonly driver: string | undefined
  readonly linkLayer: string | undefined
  readonly state: Named | undefined
  readonly rate: string | undefined
  readonly netdev: string | undefined
  readonly gids: readonly Gid[]
  /** Configuration of the RDMA CM in configfs: `RoCE v2`, and the traffic class of IP. */
  readonly defaultMode: string | undefined
  readonly defaultTos: number | undefined
  /** Traffic class that OFED forces on all connections of the port. */
  readonly trafficClass: string | undefined
}

export interface L2Interface extends Interface {
  /** Path MTU in bytes; undefined if the interface's MTU is too small. */
  readonly pathMtu: number | undefined
  /** RDMA ports on the interface: `mlx5_0/1` */
  readonly rdma: readonly string[]
}

export interface L2Reading {
  readonly ports: readonly L2Port[]
  readonly interfaces: readonly L2Interface[]
  /** net.ipv4.tcp_ecn. */
  readonly tcpEcn: number | undefined
  readonly findings: readonly Finding[]
  /** Files that could not be read, with the reasons. */
  readonly unread: readonly string[]
  readonly problems: readonly TreeProblem[]
}

export interface L2Options {
  readonly root?: string
  /** Names of RDMA devices or interfaces, empty for all. */
  readonly names?: readonly string[]
}

/** Reads the configuration. Does not throw. */
export function readL2({ root, names = [] }: L2Options = {}): L2Reading {
  const tree = new Tree(root)
  const all = readDevices(tree, () => true, true)
  const devices = all.filter(
    ({ name, ports }) =>
      chosen(names, name) || ports.some(({ netdev }) => netdev !== undefined && names.includes(netdev)),
  )
  const carriers = new Set(devices.flatMap(({ ports }) => ports.flatMap(({ netdev }) => netdev ?? [])))
  const interfaces = readInterfaces(tree, (name) => chosen(names, name) || carriers.has(name))
  const defaults = new Map<string, CmDefaults>()
  const ports = devices.flatMap((device) =>
    device.ports.map((port): L2Port => {
      const {
        readings: _r,
        others: _o,
        lid: _l,
        lifespanMs: _s,
        physicalState: _p,
        bytesPerSecond: _b,
        ...facts
      } = port
      const cm = cmDefaults(tree, device.name, port.port)
      defaults.set(`${device.name}/${port.port}`, cm)
      const trafficClass = tree.optional(`sys/class/infiniband/${device.name}/tc/${port.port}/traffic_class`)
      return {
        device: device.name,
        driver: device.driver,
        ...facts,
        defaultMode: cm.mode,
        defaultTos: cm.tos,
        trafficClass,
      }
    }),
  )
  const rdmaOf = (name: string): string[] =>
    ports.filter(({ netdev }) => netdev === name).map(({ device, port }) => `${device}/${port}`)
  const found = interfaces.map((one) => ({
    ...one,
    pathMtu: one.mtu === undefined ? undefined : pathMtuOf(one.mtu),
    rdma: rdmaOf(one.name),
  }))
  return {
    ports,
    interfaces: found,
    tcpEcn: tree.number('proc/sys/net/ipv4/tcp_ecn', 0, 5),
    findings: [
      ...devices.flatMap((device) => ofPorts(device, interfaces, defaults)),
      ...found.flatMap((one) => interfaceFindings(one, one.rdma)),
    ],
    unread: interfaces.filter(({ name }) => carriers.has(name) || names.includes(name)).flatMap(({ unread }) => unread),
    problems: tree.problems,
  }
}

function chosen(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name)
}

function ofPorts(
  device: Device,
  interfaces: readonly Interface[],
  defaults: ReadonlyMap<string, CmDefaults>,
): Finding[] {
  return device.ports.flatMap((port) => {
    const carrier = interfaces.find(({ name }) => name === port.netdev)
    return portFindings(device, port, carrier, defaults.get(`${device.name}/${port.port}`)!)
  })
}

/** Reads the settings that `cma_roce_mode` and `cma_roce_tos` write, which exist once a user has made the folder of the device. */
function cmDefaults(tree: Tree, device: string, port: number): CmDefaults {
  const at = `sys/kernel/config/rdma_cm/${device}/ports/${port}`
  return { mode: tree.optional(`${at}/default_roce_mode`), tos: tree.number(`${at}/default_roce_tos`, 0, 255) }
}
