/** Sockets over RDMA: the protocol of rsockets, and its calls by their names in rsocket.h. */

export * from './api.ts'
export * from './constants.ts'
export { type RSocketDrops, rsocketDrops, rsocketProtocolErrors } from './counters.ts'
export { RDatagram } from './datagram.ts'
export { RSocketError } from './errors.ts'
export { type PollFd, rpoll, rselect } from './poll.ts'
export { RSocket } from './socket.ts'
export type { RSocketCounters, RSocketLike, RSocketOptions, SocketAddress, Watch } from './types.ts'
