/** Parts common to the scripts of pages, in browsers: elements, colours, axes. Other folders import from here only. */

export { clockText, clockTicks, multiples, roundStep, type Tick, timeTicks } from './axis.ts'
export { Chart, type ChartData, type ChartLine } from './chart.ts'
export { button, byId, element, pressed } from './dom.ts'
export { theme } from './theme.ts'
export { PageToken } from './token.ts'
