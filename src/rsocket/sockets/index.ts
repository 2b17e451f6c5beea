/** The API of rsocket.h: stream and datagram sockets, their calls by name, `rpoll` and `rselect`. */
export * from './api.ts'
export { RDatagram } from './datagram.ts'
export { RSocketError } from './errors.ts'
export { type PollFd, rpoll, rselect } from './poll.ts'
export { RSocket } from './socket.ts'
export type { RSocketLike, RSocketOptions } from './types.ts'
