/** What a page may ask about a window that is kept. */
import { type Key, type Measure, MonitorError, parseKey, type QueryAnswer, query } from '../index.ts'
import { type CurveView, curveView } from './curve.ts'
import { type DetailView, detailView } from './detail.ts'
import { type LiveView, mostRows, type WindowView } from './live.ts'

export type Question =
  | { ask: 'window'; window: number }
  | { ask: 'rows'; window: number; by: string; of: string }
  | { ask: 'detail'; window: number; host: string; qp: number | null }
  | { ask: 'curve'; window: number; host: string; qp: number | null; fromNs: number; toNs: number }

export interface QuestionAnswer {
  window: WindowView
  rows: Omit<QueryAnswer, 'keys'>
  detail: DetailView
  /** Null if there are no rates of it. */
  curve: CurveView | null
}

const mostText = 128

/** Reads what came from a page; `id` is what it knows the answer by. Throws ERR_MONITOR_VALUE. */
export function parseQuestion(text: string): { id: number; question: Question } {
  const wrong = (what: string): never => {
    throw new MonitorError('ERR_MONITOR_VALUE', `no question: ${what}`)
  }
  let fields: Record<string, unknown>
  try {
    fields = Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return wrong('this is no JSON')
  }
  const number = (name: string, least = 0, most = Number.MAX_SAFE_INTEGER): number => {
    const value = fields[name]
    return typeof value === 'number' && value >= least && value <= most ? value : wrong(`${name} is no number of it`)
  }
  const word = (name: string): string => {
    const value = fields[name]
    return typeof value === 'string' && value.length <= mostText ? value : wrong(`${name} is no text of it`)
  }
  const id = number('id')
  const window = number('window')
  const place = (): { host: string; qp: number | null } => ({
    host: word('host'),
    qp: fields.qp === null ? null : number('qp', 0, 2 ** 24 - 1),
  })
  switch (fields.ask) {
    case 'window':
      return { id, question: { ask: 'window', window } }
    case 'rows':
      return { id, question: { ask: 'rows', window, by: word('by'), of: word('of') } }
    case 'detail':
      return { id, question: { ask: 'detail', window, ...place() } }
    case 'curve':
      return { id, question: { ask: 'curve', window, ...place(), fromNs: number('fromNs'), toNs: number('toNs') } }
    default:
      return wrong('ask is not window, rows, detail or curve')
  }
}

/** Throws ERR_MONITOR_VALUE if the window is no longer kept, or a key or measure is none. */
export function answerQuestion(live: LiveView, question: Question): QuestionAnswer[keyof QuestionAnswer] {
  const view = live.view(question.window)
  const window = live.window(question.window)
  if (view === undefined || window === undefined)
    throw new MonitorError('ERR_MONITOR_VALUE', `window ${question.window} is not kept any more`)
  if (question.ask === 'window') return view
  if (question.ask === 'rows') {
    const by: Key = parseKey(question.by)
    const { keys: _, ...answer } = query(window, { by, of: question.of as Measure, top: mostRows })
    return answer
  }
  const { host, qp } = question
  if (question.ask === 'detail') return detailView(window, view.answer, host, qp)
  const where = { destination: host, ...(qp !== null && { destinationQp: qp }) }
  return curveView(window, where, question.fromNs, question.toNs) ?? null
}
