/** Traffic between hosts: the hosts with the largest amounts, and the amount of each pair. */
import { type Measure, query, type Window } from '../index.ts'

export interface HeatCell {
  /** Numbers of hosts. */
  from: number
  to: number
  value: number
  lower: number
  upper: number
}

export interface HeatView {
  measure: Measure
  /**
   * Hosts that send and receive the largest amounts, ordered by their addresses, so that their positions are the same from window to
   * window.
   */
  hosts: string[]
  cells: HeatCell[]
  /** Pairs of hosts that are not among them, and their sum. */
  others: { pairs: number; value: number }
  /** Maximum amount of a pair that was not found. */
  rest: number
}

/** Number of hosts of a map. */
export const mostHosts = 24
const mostPairs = 4096
/** Order of addresses: 10.0.0.9 before 10.0.0.10. */
const byAddress = new Intl.Collator('en', { numeric: true })

export function heatView(window: Window, measure: Measure): HeatView {
  const { rows, rest, found } = query(window, { by: 'hosts', of: measure, top: mostPairs })
  const loads = new Map<string, number>()
  for (const { fields, value } of rows)
    for (const host of new Set([fields.source!, fields.destination!])) loads.set(host, (loads.get(host) ?? 0) + value)
  const hosts = [...loads]
    .sort(([, a], [, b]) => b - a)
    .slice(0, mostHosts)
    .map(([host]) => host)
    .sort(byAddress.compare)
  const numbers = new Map(hosts.map((host, i) => [host, i]))
  const cells: HeatCell[] = []
  const others = { pairs: found - rows.length, value: 0 }
  for (const { fields, value, lower, upper } of rows) {
    const [from, to] = [numbers.get(fields.source!), numbers.get(fields.destination!)]
    if (from !== undefined && to !== undefined) cells.push({ from, to, value, lower, upper })
    else {
      others.pairs++
      others.value += value
    }
  }
  return { measure, hosts, cells, others, rest }
}
