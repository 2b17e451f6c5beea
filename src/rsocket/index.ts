/**
 * Sockets over RDMA.
 *
 *     sockets/     the calls of rsocket.h, and the sockets that implement them
 *     runtime/     waiting and waking of sockets
 *     protocol/    streams and headers of datagrams; pure
 */
export * from './protocol/constants.ts'
export { type RSocketCounters, type RSocketDrops, rsocketDrops, rsocketProtocolErrors } from './protocol/counters.ts'
export { Errno, type ErrnoName, errnoName, errnoText } from './protocol/errno.ts'
export type { SocketAddress } from './runtime/address.ts'
export type { Watch } from './runtime/watches.ts'
export * from './sockets/index.ts'
