/** Host or a queue pair of it: its traffic in both directions, by several keys, and its messages. */
import {
  eventNames,
  eventTexts,
  flowLatenciesOf,
  type Key,
  type KeyFields,
  type LatencyAnswer,
  type Measure,
  type MessageAnswer,
  mostFlowLatencies,
  nameOfKey,
  query,
  type Row,
  type Window,
  type WindowAnswer,
} from '../index.ts'

export interface DetailTable {
  title: string
  /** Name of the key of the rows. */
  by: string
  of: Measure
  rows: Row[]
  /** Maximum amount of a key that has no row. */
  rest: number
  /** Number of keys that were found. */
  found: number
}

export interface DetailView {
  host: string
  qp: number | null
  tables: DetailTable[]
  /** Messages of this host or queue pair among the largest and the slowest of the whole window. */
  largest: MessageAnswer[]
  slowest: MessageAnswer[]
  latencies: { flow: string; latency: LatencyAnswer }[]
  /** True if the window has the latencies of all flows; otherwise it has those of the first flows that had some. */
  hasAllLatencies: boolean
}

type Where = Partial<KeyFields>

const most = 20

/** Returns the details. `answer`: of the same window, with all of its messages. */
export function detailView(window: Window, answer: WindowAnswer, host: string, qp: number | null): DetailView {
  const to: Where = { destination: host, ...(qp !== null && { destinationQp: qp }) }
  const from: Where = { source: host, ...(qp !== null && { sourceQp: qp }) }
  const table = (title: string, by: Key, of: Measure, where: Where): DetailTable => {
    const { rows, rest, found } = query(window, { by, of, where, top: most })
    return { title, by: nameOfKey(by), of, rows, rest, found }
  }
  const tables =
    qp === null
      ? [
          table('to its queue pairs', 'qp', 'bytes', to),
          table('from its queue pairs', 'sender', 'bytes', from),
          table('from hosts', 'source', 'bytes', to),
          table('to hosts', 'destination', 'bytes', from),
        ]
      : [table('flows to it', 'flow', 'bytes', to), table('flows from it', 'flow', 'bytes', from)]
  tables.push(
    table('operations to it', 'operation', 'messages', to),
    table('operations from it', 'operation', 'messages', from),
    table('memory regions', 'rkey', 'bytes', to),
    eventTable('events on the way to it', window, to),
    eventTable('events on the way from it', window, from),
  )
  const isOf = ({ fields }: { fields: Where }): boolean => isPart(to, fields) || isPart(from, fields)
  return {
    ...{ host, qp },
    tables: tables.filter(({ rows }) => rows.length > 0),
    largest: answer.messages.largest.filter(isOf),
    // A message of one packet takes no time.
    slowest: answer.messages.slowest.filter((message) => message.ns > 0 && isOf(message)),
    latencies: flowLatenciesOf(window)
      .filter(isOf)
      .map(({ flow, latency }) => ({ flow, latency })),
    hasAllLatencies: window.flowLatencies.size < mostFlowLatencies,
  }
}

/** Returns a table of events, where each event has rows of its own. */
function eventTable(title: string, window: Window, where: Where): DetailTable {
  const answers = eventNames
    .filter((event) => window.count(event) > 0)
    .map((event) => query(window, { by: ['event'], of: event, where, top: 1 }))
  const rows = answers
    .flatMap((answer) => answer.rows)
    .map((row) => ({ ...row, name: eventTexts[row.fields.event as keyof typeof eventTexts] ?? row.name }))
  // There are no other events, unless packets were not followed.
  const rest = Math.max(window.count('fastPath'), ...answers.map((answer) => answer.rest))
  return { title, by: 'event', of: 'packets', rows, rest, found: rows.length }
}

function isPart(where: Where, fields: Where): boolean {
  return Object.entries(where).every(([field, value]) => fields[field as keyof KeyFields] === value)
}
