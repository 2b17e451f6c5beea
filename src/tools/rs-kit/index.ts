/** Code that the programs on rsockets share: options, sessions, sockets of rsockets or of the kernel, waiting, figures. */
export {
  countOf,
  countText,
  Pattern,
  type StreamRow,
  sizeText,
  streamRow,
} from './figures.ts'
export { collect, portOf, runRsTool, testOptions } from './options.ts'
export { finish, Session } from './session.ts'
export { type CommonResult, type CommonSettings, failureOf, type Run, type Show } from './settings.ts'
export type { StreamResult, StreamSettings, StreamTest } from './stream.ts'
export { configureStreams } from './stream-command.ts'
export { runStreams } from './stream-run.ts'
export { serveTool } from './thread.ts'
export { openDatagram, type ToolDatagram } from './tool-datagram.ts'
export { errorText, isEagain, resolveHost, type SocketSettings, type ToolSocket } from './tool-socket.ts'
export { recvAll, sendAll, type TransferOptions, Waiter } from './waiter.ts'
