/**
 * Monitor as a page shows it: points of time, the windows that are kept, and questions about them. Pure: a server sends the results. Other
 * folders import from here only.
 */
export { type CurveView, curveView, mostBins } from './curve.ts'
export { type DetailTable, type DetailView, detailView } from './detail.ts'
export { type HeatCell, type HeatView, heatView, mostHosts } from './heat.ts'
export {
  type BurstAt,
  type Hello,
  LiveView,
  type LiveViewOptions,
  mostBurstsShown,
  mostRows,
  type Point,
  sumNumber,
  type Update,
  type WindowView,
} from './live.ts'
export { type Asked, answerQuestion, parseQuestion, type Question, type QuestionAnswer } from './question.ts'
