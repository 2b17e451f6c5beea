/**
 * `verbena/replay`: replay of captured RDMA traffic. Its packets with other addresses, queue pairs, keys and PSNs and correct checksums; or
 * its messages, with the cause of each. Reads the sources of `verbena/capture`; the program sends. docs/guide/replay.md shows how to use it.
 */
export {
  type BadPolicy,
  badPolicies,
  type Mapping,
  MappingError,
  type MappingKind,
  type MessageGaps,
  type MessageOp,
  messageOps,
  mostMessages,
  type Pace,
  Pacer,
  type PacketCounts,
  type PacketOut,
  type PacketReplayOptions,
  type PacketReplayResult,
  parseMapping,
  parseMappings,
  readMessages,
  replayPackets,
  type TraceConnection,
  type TraceEnd,
  type TraceMessage,
  type TraceMessages,
  trafficClassOf,
  UdpPayload,
  type Wait,
  waits,
} from '../replay/index.ts'
