/** Programs on rsockets with the habits of rdma-core's: rstream, riostream, rcopy, udpong. */
export { allSizes, type StreamRow, usualSizes } from './figures.ts'
export { type RcopyResult, type RcopySettings, rcopyPort } from './rcopy.ts'
export { rstreamPort, type StreamResult, type StreamSettings } from './rstream.ts'
export { runTool, type ToolName } from './run.ts'
export type { CommonResult, CommonSettings, Notice, Tell } from './settings.ts'
export { type UdpongResult, type UdpongRow, type UdpongSettings, udpongPort } from './udpong.ts'
export { maxMessageBytes } from './udpong-message.ts'
