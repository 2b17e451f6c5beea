/** The report of `verbena replay packets` at its end. */
import { print } from '../../cli/terminal/index.ts'
import type { PacketCounts, PacketReplayResult } from '../../replay/index.ts'
import { timeText } from '../../text/index.ts'
import type { PacingError } from './live.ts'

export interface PacketReport {
  kind: 'file' | 'interface' | 'udp'
  target: string
  counts: PacketCounts
  /** Number of packets written or sent; for interfaces and hosts, of those that the system has accepted. */
  sent: number
  bytes: number
  /** Number of packets that the system rejected: too long, or no room. */
  rejected: number
  /** Number of packets cut by the capture, or of another link type. */
  unsendable: number
  /** Seconds from the first to the last packet; null for a file. */
  seconds: number | null
  pacing: PacingError | null
}

export function printReport(report: PacketReport): void {
  const { kind, target, counts, sent, bytes, rejected, unsendable, seconds, pacing } = report
  const lines: [string, string][] = [['packets', String(counts.packets)]]
  const add = (name: string, count: number, text = ''): void => {
    if (count > 0) lines.push([name, `${count}${text}`])
  }
  lines.push(['RDMA', String(counts.rdma)])
  add('filtered out', counts.filtered)
  add('ICRC invalid', counts.icrcInvalid)
  add('malformed', counts.malformed)
  add('cut', counts.cut, ' (the capture has only their beginning)')
  add('kept damaged', counts.kept)
  add('dropped', counts.dropped, ' (damaged)')
  add('mended', counts.mended)
  add('not mended', counts.unmended, ' (no checksum repairs them)')
  lines.push(['rewritten', String(counts.rewritten)])
  add('in tunnels', counts.tunnelled, ' (what lies around them is as it was)')
  add('PSN unchanged', counts.unpaired, ' (the capture does not tell which queue pair sends these responses)')
  add('rejected', rejected, ' by the system')
  add('not sent', unsendable, ' (cut, or not of an Ethernet link)')
  const to = kind === 'udp' ? `to ${target}` : kind === 'interface' ? `through ${target}` : `to ${target}`
  lines.push([kind === 'file' ? 'written' : 'sent', `${sent} packets, ${bytes} bytes ${to}`])
  if (seconds !== null && seconds > 0)
    lines.push(['rate', `${Math.round(sent / seconds)} packets/s, ${((bytes * 8) / seconds / 1e6).toFixed(3)} Mbit/s`])
  if (pacing !== null) {
    const { medianNs, p99Ns, maxNs } = pacing
    lines.push(['late', `median ${timeText(medianNs)}, p99 ${timeText(p99Ns)}, max ${timeText(maxNs)}`])
  }
  for (const [name, text] of lines) print(`${name.padEnd(15)}${text}`)
}

export type Report = PacketReport & { result: PacketReplayResult }

export function reportOf(
  kind: PacketReport['kind'],
  target: string,
  result: PacketReplayResult,
  done: Partial<PacketReport> & { sent: number; bytes: number },
): Report {
  const counts: PacketCounts = result.counts
  return { kind, target, counts, rejected: 0, unsendable: 0, seconds: null, pacing: null, ...done, result }
}
