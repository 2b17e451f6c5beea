/** A window as text: a line of totals, tables of the largest keys, then problems. */
import { paint, print, table } from '../../cli/terminal/index.ts'
import { burstText, eventTexts, type LatencyAnswer, type Row, type WindowAnswer } from '../../monitor/index.ts'
import { bitText, percentText, timeText } from '../../text/index.ts'

/** Prints a window in one piece, so that output of a tapped command does not get into it. */
export function showWindow(window: WindowAnswer, top: number): void {
  const lines = [headLine(window), ...factLines(window).map((line) => `  ${line}`)]
  for (const [name, rows] of Object.entries(window.top)) {
    if (rows.length === 0) continue
    lines.push('')
    lines.push(
      table(
        [name, window.measure, 'share', 'at least', 'at most'],
        rows.map((row) => cellsOf(row, window)),
      ),
    )
  }
  if (window.events.length > 0) {
    lines.push('')
    const rows = window.events.map(({ event, count, connections }) => [
      ...[event, count, eventTexts[event]],
      connections[0] === undefined ? '' : connections[0].name,
    ])
    lines.push(table(['event', 'count', 'what', 'most of it'], rows))
  }
  for (const burst of window.bursts.slice(0, top)) lines.push(`microburst onto ${burstText(burst)}`)
  for (const { name, before, now, least } of window.changes.slice(0, top))
    lines.push(`${least > 0 ? 'more' : 'less'}: ${name}: ${now} ${window.measure} after ${before}`)
  for (const { severity, text } of window.anomalies.slice(0, top * 2))
    lines.push(
      paint(severity === 'critical' ? 'red' : severity === 'warning' ? 'yellow' : 'dim', `${severity}: ${text}`),
    )
  print(`${lines.join('\n')}\n`)
}

function headLine({ start, seconds, agents, totals, rates, late }: WindowAnswer): string {
  const who = agents.length > 1 ? `, ${agents.length} agents` : ''
  const parts = [
    `${paint('bold', start)}  ${seconds} s${who}${late ? ', late' : ''}`,
    `${totals.packets} packets (${totals.roce} of RDMA)`,
    bitText(rates.bits),
    `${totals.messages} messages`,
  ]
  return parts.join('  ')
}

function factLines({ flows, hosts, latency, pauses }: WindowAnswer): string[] {
  const lines = [`${about(flows)} flows, ${about(hosts)} hosts`]
  for (const [name, answer] of [
    ['ACK', latency.ack],
    ['READ', latency.read],
  ] as const)
    if (answer !== null) lines.push(`${name} latency: ${latencyText(answer)}`)
  for (const { priority, frames } of pauses)
    lines.push(`PFC: ${frames} frames of ${priority === 'link' ? 'the whole link' : `priority ${priority}`}`)
  return lines
}

function latencyText({ count, p50, p99, max }: LatencyAnswer): string {
  return `50 % ${timeText(p50.value)}, 99 % ${timeText(p99.value)}, max ${timeText(max.value)} (${count} measured)`
}

function about({ value, lower, upper }: { value: number; lower: number; upper: number }): string {
  const whole = Math.round(value)
  return lower === upper ? `${whole}` : `about ${whole}`
}

function cellsOf({ name, value, lower, upper }: Row, { measure, totals }: WindowAnswer): (string | number)[] {
  const total =
    measure === 'bytes'
      ? totals.roceBytes
      : measure === 'packets'
        ? totals.roce
        : measure === 'messages'
          ? totals.messages
          : totals[measure]
  const share = total === 0 ? '' : percentText(value, total)
  return [name, value, share, lower, upper]
}
