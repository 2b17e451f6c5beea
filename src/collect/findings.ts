/** Consequences of a host's settings for RoCE, as text. */
import type { Device, Port } from './infiniband.ts'
import type { Interface } from './interfaces.ts'

export interface Finding {
  /** Severity; a `warning` reduces speed or loses packets. */
  readonly level: 'info' | 'warning'
  /** Device or interface. */
  readonly of: string
  readonly text: string
}

/**
 * Bytes of RoCEv2 besides the payload, as the kernel computes them (iboe_get_mtu): GRH or IPv6 header 40, UDP 8, BTH 12, the
 * longest extension headers 32, ICRC 4.
 */
const roceOverheadBytes = 96
const pathMtus = [4096, 2048, 1024, 512, 256]
const activeState = 4

/** Returns the path MTU, in bytes, of an interface with this MTU; undefined if it is too small for RoCE. */
export function pathMtuOf(mtu: number): number | undefined {
  return pathMtus.find((pathMtu) => pathMtu + roceOverheadBytes <= mtu)
}

/** RoCE version and traffic class that the RDMA CM is configured to use on a device. */
export interface CmDefaults {
  readonly mode: string | undefined
  readonly tos: number | undefined
}

export function portFindings(device: Device, port: Port, of: Interface | undefined, cm: CmDefaults): Finding[] {
  const findings: Finding[] = []
  const name = `${device.name}/${port.port}`
  const add = (level: Finding['level'], text: string): void => void findings.push({ level, of: name, text })
  if (port.state !== undefined && port.state.id !== activeState)
    add('warning', `the port is ${port.state.name.trim() || `in state ${port.state.id}`}: it carries nothing`)
  if (port.linkLayer === 'InfiniBand') add('info', 'its link layer is InfiniBand: it carries no RoCE')
  if (port.linkLayer !== 'Ethernet') return findings
  const types = new Set(port.gids.map(({ type }) => type))
  if (port.gids.length === 0) add('warning', `it has no GID: give ${port.netdev ?? 'its interface'} an address`)
  else if (!types.has('RoCE v2') && !types.has(undefined))
    add('warning', 'no GID is of RoCE v2: it speaks RoCE v1 only')
  else if (port.gids.every(({ gid }) => gid.startsWith('fe80')))
    add('info', 'all GIDs are link-local: RoCE v2 reaches its own subnet only')
  if (cm.mode !== undefined && /v1/i.test(cm.mode))
    add('warning', `the RDMA CM uses ${cm.mode} by default, which no router forwards (default_roce_mode in configfs)`)
  if (of !== undefined) findings.push(...priorityFindings(name, of, cm))
  return findings
}

function priorityFindings(name: string, { dcb, ofedTrust, vlan, name: netdev }: Interface, cm: CmDefaults): Finding[] {
  const findings: Finding[] = []
  const add = (level: Finding['level'], text: string): void => void findings.push({ level, of: name, text })
  const trust = dcb?.trust?.[0] ?? ofedTrust
  if (trust === 'pcp' && vlan === undefined)
    add(
      'info',
      `${netdev} trusts the VLAN tag, and untagged packets have none: they are of priority 0, whatever their DSCP`,
    )
  const pfc = dcb?.pfc
  if (pfc === undefined) return findings
  const on = pfc.flatMap((enabled, priority) => (enabled ? [priority] : []))
  if (on.length === 0) add('info', 'PFC is off for all priorities: RoCE may be lost where the network is congested')
  else if (on.length === 8) add('warning', 'PFC is on for all priorities: TCP pauses RoCE and the other way round')
  else add('info', `PFC is on for ${on.length === 1 ? 'priority' : 'the priorities'} ${on.join(', ')}`)
  if (cm.tos !== undefined && on.length > 0) {
    const dscp = cm.tos >> 2
    const priority = dcb?.dscp.get(dscp) ?? (trust === 'pcp' ? 0 : dscp >> 3)
    if (!on.includes(priority))
      add(
        'warning',
        `connections of the RDMA CM have DSCP ${dscp}, which is of priority ${priority}: PFC is off for it`,
      )
  }
  return findings
}

/** Returns the findings of an interface. `rdma`: names of the RDMA devices on it. */
export function interfaceFindings(one: Interface, rdma: readonly string[]): Finding[] {
  const findings: Finding[] = []
  const { name, mtu, state, ecn } = one
  const add = (level: Finding['level'], text: string): void => void findings.push({ level, of: name, text })
  // The interface is not in use.
  if (state === 'down' && rdma.length === 0) return findings
  if (mtu !== undefined) {
    const pathMtu = pathMtuOf(mtu)
    if (pathMtu === undefined)
      add('warning', `MTU ${mtu} is too small for RoCE: the least path MTU, 256, needs ${256 + roceOverheadBytes}`)
    else if (pathMtu === pathMtus[0]) add('info', `MTU ${mtu} gives path MTU ${pathMtu}`)
    else {
      const better = pathMtus[0]! + roceOverheadBytes
      add(
        rdma.length > 0 ? 'warning' : 'info',
        `MTU ${mtu} gives path MTU ${pathMtu}: path MTU 4096 needs MTU ${better} or more, here and at all switches`,
      )
    }
  }
  if (state === 'down') add('warning', 'the interface is down')
  if (ecn !== undefined && rdma.length > 0) {
    const both = ecn.notification.filter((priority) => ecn.reaction.includes(priority))
    if (both.length === 0) add('warning', 'DCQCN is off: no priority has both reaction and notification point enabled')
    else add('info', `DCQCN is on for ${both.length === 1 ? 'priority' : 'the priorities'} ${both.join(', ')}`)
  }
  return findings
}
