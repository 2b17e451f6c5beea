/** Anomalies of a window, with their reasons as text. Each rule reports its observation, the place, and the usual meaning. */
import type { Estimate } from '../sketch/index.ts'
import { percentText } from '../text/index.ts'
import { counterNames, type EventName, followedOf } from './events.ts'
import type { KeyFields } from './key.ts'
import { macOf } from './pause.ts'
import { query } from './query.ts'
import { pauseClasses, type Window } from './window.ts'

/** Description of each kind. */
export const anomalyTexts = {
  incast: 'many senders fill one receiver at the same time',
  'slow-receiver': 'a receiver posts its receives later than messages come',
  'unmarked-loss': 'packets are lost where none is marked: a hop drops without marking',
  'ecn-not-capable': 'senders do not allow switches to mark their packets',
  'marks-without-cnp': 'packets are marked and no receiver asks its sender to slow down',
  'cnp-without-marks': 'receivers ask senders to slow down for marks that are not seen here',
  'bad-icrc': 'packets are damaged on their way',
  'access-errors': 'requests name memory that they may not use',
  'pfc-storm': 'a port is paused for most of the time',
  pollution: 'very many flows of very few packets: a scan, or an attack on the monitor',
  timeouts: 'requesters wait until their timers end',
  overload: 'the monitor itself could not follow everything',
} as const
/** Kinds of anomalies. */
export type AnomalyKind = keyof typeof anomalyTexts

/** Anomaly of a window, as text. */
export interface Anomaly {
  kind: AnomalyKind
  /** Severity. `critical`: traffic stands, or data is lost. */
  severity: 'critical' | 'warning' | 'info'
  /** Description, one sentence with its reasons. */
  text: string
  /** Place: a host, a QP or a connection. */
  fields: Partial<KeyFields>
}

const mostOfAKind = 3

type Rule = (window: Window) => Anomaly[]

/** Number of times that an event happened to a key: of a sketch, so that events of other keys may be included. */
interface Count {
  value: number
  isExact: boolean
}

const many = (count: number | Count, one: string, more: string): string => {
  const { value, isExact } = typeof count === 'number' ? { value: count, isExact: true } : count
  return `${isExact ? '' : 'about '}${value} ${value === 1 ? one : more}`
}
const percent = (part: number, whole: number): string => percentText(part, Math.max(1, whole))

const incast: Rule = (window) => {
  const found: Anomaly[] = []
  for (const { name, fields, value } of query(window, { by: 'qp', of: 'bytes', top: 4 }).rows)
    found.push(...incastOnto(window, name, fields, value))
  // A QP has one peer, unless it takes datagrams: incast is mostly onto the QPs of a host.
  for (const { name, fields, value } of query(window, { by: 'destination', of: 'bytes', top: 4 }).rows)
    if (!found.some((one) => one.fields.destination === fields.destination))
      found.push(...incastOnto(window, name, fields, value))
  return found
}

const leastSenders = 4

function incastOnto(window: Window, name: string, where: Partial<KeyFields>, bytes: number): Anomaly[] {
  const senders = query(window, { by: 'source', of: 'bytes', where, top: 1000 }).rows
  // Senders with a fair part; if one sends nearly all, it is not incast.
  const fair = senders.filter(({ value }) => value >= bytes / (4 * senders.length))
  if (fair.length < leastSenders || senders[0]!.value > bytes / 2) return []
  const marked = sum(window, 'marked', where)
  const { destination } = where
  const back = destination === undefined ? none : sum(window, 'cnp', { source: destination })
  const lost = less(sum(window, 'missing', where), sum(window, 'late', where))
  if (marked.value + back.value + lost.value === 0) return []
  const signs = [
    marked.value > 0 && many(marked, 'packet to it was marked (ECN)', 'packets to it were marked (ECN)'),
    back.value > 0 && `it sent ${many(back, 'CNP', 'CNPs')}`,
    lost.value > 0 && many(lost, 'packet to it was missing', 'packets to it were missing'),
  ].filter((sign) => sign !== false)
  const share = percent(bytes, window.sketches.bytes.total)
  return [
    {
      kind: 'incast',
      severity: lost.value > 0 ? 'critical' : 'warning',
      text: `incast onto ${name}: ${fair.length} hosts send to it at the same time, ${share} of all bytes; ${signs.join(', ')}`,
      fields: where,
    },
  ]
}

const none: Count = { value: 0, isExact: true }

/** Returns at most the number in the window, which is exact. */
function countOf(window: Window, of: EventName, rows: readonly Estimate[]): Count {
  const value = rows.reduce((all, row) => all + row.value, 0)
  return {
    value: Math.min(Math.round(value), window.count(of)),
    isExact: rows.every(({ lower, upper }) => lower === upper),
  }
}

function less(a: Count, b: Count): Count {
  return { value: Math.max(0, a.value - b.value), isExact: a.isExact && b.isExact }
}

function sum(window: Window, of: EventName, where: Partial<KeyFields>): Count {
  return countOf(window, of, query(window, { by: ['event'], of, where, top: 1000 }).rows)
}

const slowReceiver: Rule = (window) =>
  query(window, { by: 'sender', of: 'rnr', top: mostOfAKind }).rows.map((row) => ({
    kind: 'slow-receiver',
    severity: 'warning',
    text: `slow receiver ${row.name}: it answered ${many(countOf(window, 'rnr', [row]), 'message', 'messages')} with RNR NAK, having posted no receive for them`,
    fields: row.fields,
  }))

const unmarkedLoss: Rule = (window) => {
  const found: Anomaly[] = []
  for (const row of query(window, { by: 'hosts', of: 'missing', top: 10 }).rows) {
    const { name, fields } = row
    const lost = less(countOf(window, 'missing', [row]), sum(window, 'late', fields))
    if (lost.value < 10 || sum(window, 'marked', fields).value > 0) continue
    const all = query(window, { by: 'hosts', of: 'packets', where: fields }).rows[0]?.value ?? 0
    // The fraction of followed packets among these is taken to be that among all packets.
    const packets = all * (followedOf(window.totals()) / window.count('roce'))
    found.push({
      kind: 'unmarked-loss',
      severity: 'warning',
      text: `${name}: ${many(lost, 'packet is', 'packets are')} missing (${percent(lost.value, packets + lost.value)}) and none was marked: a hop on this path drops without marking (no ECN there), or damages packets`,
      fields,
    })
  }
  return found.slice(0, mostOfAKind)
}

const congestion: Rule = (window) => {
  const [roce, capable, marked, cnps] = (['roce', 'ecnCapable', 'marked', 'cnp'] as const).map((n) => window.count(n))
  const found: Anomaly[] = []
  if (roce! >= 100 && capable! < roce! / 2)
    found.push({
      kind: 'ecn-not-capable',
      severity: 'info',
      text: `${percent(roce! - capable!, roce!)} of the RDMA packets are sent as not ECN-capable: no switch can mark them, and congestion shows as loss or PFC only`,
      fields: {},
    })
  if (marked! >= 100 && cnps === 0)
    found.push({
      kind: 'marks-without-cnp',
      severity: 'warning',
      text: `${marked} packets were marked and no CNP was seen: receivers do not take part in congestion control, or CNPs take another path`,
      fields: {},
    })
  if (cnps! >= 10 && marked === 0)
    found.push({
      kind: 'cnp-without-marks',
      severity: 'info',
      text: `${cnps} CNPs were seen and no marked packet: packets are marked behind this point of the path`,
      fields: {},
    })
  return found
}

const damaged: Rule = (window) => {
  const bad = window.count('icrc')
  if (bad === 0) return []
  const followed = followedOf(window.totals())
  const which = followed === window.count('roce') ? 'the RDMA packets' : 'those that were followed'
  const worst = query(window, { by: 'hosts', of: 'icrc', top: 1 }).rows[0]
  return [
    {
      kind: 'bad-icrc',
      severity: bad > followed / 1000 ? 'critical' : 'warning',
      text: `${many(bad, 'packet has', 'packets have')} a wrong ICRC (${percent(bad, followed)} of ${which})${worst === undefined ? '' : `, most of them ${worst.name}`}: a link or a memory on the way damages them, or something rewrites headers`,
      fields: worst?.fields ?? {},
    },
  ]
}

const access: Rule = (window) =>
  (['nakAccess', 'nakInvalid', 'nakOperational'] as const).flatMap((event) =>
    query(window, { by: 'sender', of: event, top: 1 }).rows.map((row) => ({
      kind: 'access-errors' as const,
      severity: 'critical' as const,
      text: `${row.name} answered ${many(countOf(window, event, [row]), 'request', 'requests')} with ${{ nakAccess: 'remote access error', nakInvalid: 'invalid request', nakOperational: 'remote operational error' }[event]}: the connection ends with that`,
      fields: row.fields,
    })),
  )

const timeouts: Rule = (window) => {
  const count = window.count('timeout')
  if (count === 0) return []
  const worst = query(window, { by: 'flow', of: 'timeout', top: 1 }).rows[0]
  return [
    {
      kind: 'timeouts',
      severity: 'warning',
      text: `${many(count, 'retransmission', 'retransmissions')} that no NAK had asked for${worst === undefined ? '' : `, most of them ${worst.name}`}: the last packet of a message, or its acknowledgement, was lost and the requester waited for its timer`,
      fields: worst?.fields ?? {},
    },
  ]
}

/**
 * Duration of a quantum at 100 Gbit/s, in seconds. 65535 quanta are 3.4 ms at 10 Gbit/s and 0.34 ms at 100; the fraction of the time is at
 * most that of the slower link.
 */
const quantumAt100G = 5.12e-9

const pfcStorm: Rule = (window) => {
  const found: Anomaly[] = []
  for (let n = 0; n < pauseClasses; n++) {
    let [port, frames, quanta] = ['', 0, 0]
    for (const [name, pauses] of window.pausedBy)
      if (pauses[2 * n + 1]! > quanta) [port, frames, quanta] = [name, pauses[2 * n]!, pauses[2 * n + 1]!]
    const seconds = quanta * quantumAt100G
    if (seconds < window.seconds / 2) continue
    const which = n === pauseClasses - 1 ? 'the whole link' : `priority ${n}`
    found.push({
      kind: 'pfc-storm',
      severity: 'critical',
      text: `PFC storm: ${frames} frames of ${macOf(port)} asked to pause ${which} for ${percentText(seconds, window.seconds, 0)} of the time (reckoned at 100 Gbit/s): something below does not take what it gets, and stops those above`,
      fields: {},
    })
  }
  return found
}

const pollution: Rule = (window) => {
  const flows = window.sketches.flows.cardinality()
  const packets = window.count('roce')
  if (flows.lower < 10_000 || packets > 4 * flows.value) return []
  const from = query(window, { by: 'source', of: 'packets', top: 1 }).rows[0]
  return [
    {
      kind: 'pollution',
      severity: 'warning',
      text: `pollution: about ${Math.round(flows.value)} flows have ${(packets / flows.value).toFixed(1)} packets each${from === undefined ? '' : `; most packets come from ${from.name}`}: a scan, or keys made up to fill the tables of a monitor. Large flows are still counted within their bounds`,
      fields: from?.fields ?? {},
    },
  ]
}

const overload: Rule = (window) => {
  const [dropped, fast, forgotten] = [window.count('dropped'), window.count('fastPath'), window.count('forgotten')]
  if (dropped + fast + forgotten === 0) return []
  const reasons = [
    dropped > 0 ? `${many(dropped, 'packet was', 'packets were')} dropped before it` : '',
    fast > 0 ? `${many(fast, 'packet was', 'packets were')} only counted, without losses, messages and latencies` : '',
    forgotten > 0 ? `${many(forgotten, 'flow was', 'flows were')} forgotten for others` : '',
  ].filter((reason) => reason !== '')
  return [
    {
      kind: 'overload',
      severity: 'warning',
      text: `the monitor could not follow everything: ${reasons.join('; ')}`,
      fields: {},
    },
  ]
}

const rules: readonly Rule[] = [
  ...[incast, slowReceiver, unmarkedLoss, timeouts, access, damaged, congestion, pfcStorm, pollution, overload],
]
const severities = ['critical', 'warning', 'info']

/** Returns the anomalies, the worst first. */
export function anomaliesOf(window: Window): Anomaly[] {
  if (counterNames.every((name) => window.count(name) === 0)) return []
  return rules
    .flatMap((rule) => rule(window).slice(0, mostOfAKind))
    .sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))
}
