/** The API of rsocket.h: stream and datagram sockets, their calls by name, `rpoll` and `rselect`. */
export * from './api.ts'
export { RSocketError } from './errors.ts'
export { type PollFd, rpoll, rselect } from './poll.ts'
export type { RDatagram, RSocket, RSocketLike, RSocketOptions } from './types.ts'
