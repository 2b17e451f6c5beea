/** Code that the threads of the benchmarks share: stop words, clocks, pinning, memory for records, both ends of queue pairs. */
export { tvNsec, tvNsecOf } from './clock.ts'
export { Control, newControl, Phase, resetControl, Stop, stopText } from './control.ts'
export { closeAll, minRnrTimer, qpTypes, type Service, strideOf } from './endpoints.ts'
export { coreFor, engineCores, placeThread, spreadPin } from './pinning.ts'
export { recordMemory } from './record-memory.ts'
