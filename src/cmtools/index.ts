/** Programs on the RDMA CM with the habits of rdma-core's: rping, ucmatose, udaddy, mckey, cmtime. */
export { type RpingConnection, type RpingResult, type RpingSettings, rpingPort, runRping } from './rping.ts'
export { maxPingBytes, minPingBytes } from './rping-message.ts'
export type { CommonResult, CommonSettings, Output } from './settings.ts'
