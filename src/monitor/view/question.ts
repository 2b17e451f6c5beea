/** Questions of a page about a window that is kept. */
import { type Key, type Measure, MonitorError, parseKey, type QueryAnswer, query } from '../index.ts'
import { type CurveView, curveView } from './curve.ts'
import { type DetailView, detailView } from './detail.ts'
import { type LiveView, mostRows, sumNumber, type WindowView } from './live.ts'

export type Question =
  | { ask: 'window'; window: number }
  | { ask: 'rows'; window: number; by: string; of: string }
  | { ask: 'detail'; window: number; host: string; qp: number | null }
  | { ask: 'curve'; window: number; host: string; qp: number | null; fromNs: number; toNs: number }

export interface QuestionAnswer {
  window: WindowView
  rows: Omit<QueryAnswer, 'keys'>
  detail: DetailView
  /** Curve; null if there are no rates. */
  curve: CurveView | null
}

const mostText = 128

/** Question of a page. `id`: identifies the answer for the page; −1 if the message has none. */
export type Asked = { id: number; question: Question } | { id: number; reason: string }

/** Parses a message of a page. A message that is not a question has the reason instead. */
export function parseQuestion(text: string): Asked {
  let fields: Record<string, unknown>
  try {
    fields = Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return { id: -1, reason: 'no question: this is no JSON' }
  }
  const { id } = fields
  if (!isNumber(id)) return { id: -1, reason: 'no question: it has no id' }
  const question = questionOf(fields)
  return typeof question === 'string' ? { id, reason: `no question: ${question}` } : { id, question }
}

/** Returns the question, or the reason why it is invalid. */
function questionOf({ ask, window, ...fields }: Record<string, unknown>): Question | string {
  if (!isNumber(window)) return 'window is no number of one'
  if (ask === 'window') return { ask, window }
  const { by, of, host, qp, fromNs, toNs } = fields
  if (ask === 'rows') {
    if (!isWord(by) || !isWord(of)) return 'by or of is no text, or too long'
    return { ask, window, by, of }
  }
  if (ask !== 'detail' && ask !== 'curve') return 'ask is not window, rows, detail or curve'
  if (!isWord(host)) return 'host is no text, or too long'
  if (qp !== null && !isNumber(qp, 2 ** 24 - 1)) return 'qp is no number of a queue pair'
  if (ask === 'detail') return { ask, window, host, qp }
  if (!isNumber(fromNs) || !isNumber(toNs)) return 'fromNs or toNs is no time'
  return { ask, window, host, qp, fromNs, toNs }
}

function isNumber(value: unknown, most = Number.MAX_SAFE_INTEGER): value is number {
  return typeof value === 'number' && value >= 0 && value <= most
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.length <= mostText
}

/** Answers a question. Throws ERR_MONITOR_VALUE if the window is no longer kept, or if a key or measure is invalid. */
export function answerQuestion(live: LiveView, question: Question): QuestionAnswer[keyof QuestionAnswer] {
  const kept = live.kept(question.window)
  if (kept === undefined) {
    const what =
      question.window === sumNumber
        ? 'there is no sum of all windows'
        : `window ${question.window} is not kept any more`
    throw new MonitorError('ERR_MONITOR_VALUE', what)
  }
  const { window, answer } = kept
  if (question.ask === 'window') return live.view(question.window)!
  if (question.ask === 'rows') {
    const by: Key = parseKey(question.by)
    const { keys: _, ...rows } = query(window, { by, of: question.of as Measure, top: mostRows })
    return rows
  }
  const { host, qp } = question
  if (question.ask === 'detail') return detailView(window, answer, host, qp)
  const where = { destination: host, ...(qp !== null && { destinationQp: qp }) }
  return curveView(window, where, question.fromNs, question.toNs) ?? null
}
