/** Time for nodes: waiting for moments, at a rate. */
export { Pace } from './pace.ts'
export { makeTimer, monotonicNs, type Timer, type TimerName, timerNames } from './timer.ts'
