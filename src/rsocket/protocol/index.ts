/** The protocol of rsockets, without event loop or system: streams on a queue pair, streams on a trunk, datagram headers. */

export { type ConnData, decodeConnData, encodeConnData, Feature } from './conn-data.ts'
export { entriesOf, extraReceives, StreamConnection } from './connection.ts'
export * from './constants.ts'
export { Counters, countDrop, countProtocolError, type RSocketCounters } from './counters.ts'
export {
  decodeDatagramHeader,
  decodeUdpHeader,
  encodeDatagramHeader,
  encodeUdpHeader,
  UdpOp,
  udpHeaderBytes,
} from './datagram-headers.ts'
export * from './errno.ts'
export { Mappings } from './mappings.ts'
export { clampOptions, defaultPollingUs, optionsFor, type StreamOptions } from './options.ts'
export { changesKeepAlive, getOption, SocketOptions, setOption } from './socket-options.ts'
export { StreamArena } from './stream-arena.ts'
export type { StreamLink } from './stream-link.ts'
export { StreamMemory, type StreamQueuePair } from './stream-memory.ts'
export { type CqPair, type Entries, StreamQueues } from './stream-queues.ts'
export { Trunk, type TrunkOwner } from './trunk.ts'
export { TrunkStream } from './trunk-stream.ts'
