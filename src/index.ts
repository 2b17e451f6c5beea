/**
 * The front door: the verbs, on all devices that Verbena has.
 *
 *     import { openDevice, Access, Opcode, QpType } from 'verbena'
 */
import { roceDriver } from './devices/roce/index.ts'
import { shmDriver } from './devices/shm/index.ts'
import { registerDriver } from './verbs/provider/index.ts'

registerDriver(shmDriver)
registerDriver(roceDriver)

export * from './cm/index.ts'
export { faults, tap, trace } from './devices/middleware/index.ts'
export { type PublishedCounters, type PublishedDevice, publishedCounters } from './devices/roce/index.ts'
export { nativeAvailable, nativeReason, nowNs } from './memory/index.ts'
export * from './rsocket/index.ts'
export * from './verbs/index.ts'
