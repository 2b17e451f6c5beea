/** Traffic counters of an adapter's port: for performance management, and for files of sysfs, which contain the same values. */
import type { CounterBases, PortTraffic, TrafficName } from '../../management/index.ts'
import { type Host, layout } from '../../verbs/provider/index.ts'

const { Dev } = layout

const names: readonly TrafficName[] = [
  'xmitData',
  'rcvData',
  'xmitPkts',
  'rcvPkts',
  'rcvErrors',
  'xmitDiscards',
  'qp1Dropped',
]

export function portTraffic(host: Host, index: number): PortTraffic {
  const all = host.counters(index)
  const sum = (...counters: string[]): number => counters.reduce((total, name) => total + (all[name] ?? 0), 0)
  return {
    xmitData: Math.floor(sum('sent_bytes') / 4),
    rcvData: Math.floor(sum('rcvd_bytes') / 4),
    xmitPkts: sum('sent_pkts'),
    rcvPkts: sum('rcvd_pkts'),
    rcvErrors: sum('icrc_errors', 'drops_malformed'),
    xmitDiscards: sum('drops_no_path'),
    qp1Dropped: sum('gsi_drops_malformed', 'gsi_drops_no_agent'),
  }
}

/** Returns the bases of counters, which are in the segment: a program that resets counters does so for all. */
export function counterBases(host: Host, index: number): CounterBases {
  const first = (host.deviceWord(index) + Dev.managementBases) / 2
  const at = (extended: boolean, name: TrafficName): number =>
    first + names.indexOf(name) + (extended ? names.length : 0)
  return {
    get: (extended, name) => host.f64[at(extended, name)]!,
    set: (extended, name, base) => {
      host.f64[at(extended, name)] = base
    },
  }
}

/** Counters that are always 0 here, under the names of sysfs. */
const zeros = [
  'symbol_error',
  'link_error_recovery',
  'link_downed',
  'port_rcv_remote_physical_errors',
  'port_rcv_switch_relay_errors',
  'port_xmit_constraint_errors',
  'port_rcv_constraint_errors',
  'local_link_integrity_errors',
  'excessive_buffer_overrun_errors',
  'VL15_dropped',
  'port_xmit_wait',
] as const

const counting: Readonly<Record<string, TrafficName>> = {
  port_xmit_data: 'xmitData',
  port_rcv_data: 'rcvData',
  port_xmit_packets: 'xmitPkts',
  port_rcv_packets: 'rcvPkts',
  port_rcv_errors: 'rcvErrors',
  port_xmit_discards: 'xmitDiscards',
}

/** Returns files of sysfs below the port, from the counters of 64 bits as in the kernel. */
export function counterFiles(host: Host, index: number): Record<string, () => string> {
  const bases = counterBases(host, index)
  const files: Record<string, () => string> = {}
  for (const name of zeros) files[`counters/${name}`] = () => '0'
  for (const [file, name] of Object.entries(counting))
    files[`counters/${file}`] = () => String(Math.max(0, portTraffic(host, index)[name] - bases.get(true, name)))
  return files
}
