/** Sockets over RDMA: the protocol of rsockets, and its calls by their names in rsocket.h. */

export * from './protocol/constants.ts'
export { type RSocketDrops, rsocketDrops, rsocketProtocolErrors } from './protocol/counters.ts'
export * from './sockets/api.ts'
export { RDatagram } from './sockets/datagram.ts'
export { RSocketError } from './sockets/errors.ts'
export { type PollFd, rpoll, rselect } from './sockets/poll.ts'
export { RSocket } from './sockets/socket.ts'
export type { RSocketCounters, RSocketLike, RSocketOptions, SocketAddress, Watch } from './sockets/types.ts'
