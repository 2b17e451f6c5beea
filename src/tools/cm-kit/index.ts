export { connect, resolve } from './connect.ts'
export { CmFailure, eventError, peerText } from './failures.ts'
export { type Destination, MessageEnd } from './messages.ts'
export {
  addCountOptions,
  addMessageOptions,
  type CountOptions,
  checkFormat,
  countSettings,
  datagramSpace,
  type MessageOptions,
  messageSettings,
  portSpaceOf,
  runTool,
} from './options.ts'
export { all, type MessageResult, type MessageRun, runMessages } from './run.ts'
export {
  addressText,
  type CommonResult,
  type CommonSettings,
  failureOf,
  type Output,
  type RunOptions,
} from './settings.ts'
export { Station } from './station.ts'
export { messageEnd, runTwin, type Twin, type TwinSettings } from './twins.ts'
