/** Programs on the RDMA CM with the habits of rdma-core's: rping, ucmatose, udaddy, mckey, cmtime. */
export {
  type CmtimeResult,
  type CmtimeSettings,
  type CmtimeStep,
  cmtimePort,
  cmtimeTable,
  runCmtime,
} from './cmtime.ts'
export { type MckeySettings, runMckey } from './mckey.ts'
export { type RpingConnection, type RpingResult, type RpingSettings, rpingPort, runRping } from './rping.ts'
export { maxPingBytes, minPingBytes } from './rping-message.ts'
export type { MessageResult } from './run.ts'
export type { CommonResult, CommonSettings, Output } from './settings.ts'
export { runUcmatose, type UcmatoseSettings, ucmatosePort } from './ucmatose.ts'
export { runUdaddy, type UdaddySettings, udaddyPort } from './udaddy.ts'
