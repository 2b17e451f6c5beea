/** Sockets over RDMA: the protocol of rsockets, and its calls by their names in rsocket.h. */
export * from './constants.ts'
export { RSocketError } from './errors.ts'
export type { RSocketCounters, RSocketLike, RSocketOptions, SocketAddress, Watch } from './types.ts'
