/**
 * The front door: the verbs, on all devices that Verbena has.
 *
 *     import { openDevice, Access, Opcode, QpType } from 'verbena'
 */
import { shmDriver } from './devices/shm/index.ts'
import { registerDriver } from './verbs/index.ts'

registerDriver(shmDriver)

export { nativeAvailable, nativeReason, nowNs } from './memory/index.ts'
export * from './verbs/index.ts'
