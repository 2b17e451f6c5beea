/**
 * Replaying captured RDMA traffic: its packets with other addresses and numbers, or its messages. Pure: interfaces, sockets and
 * queue pairs belong to the tools. Other folders import from here only.
 */
export { CaptureCopy, type CapturedPacket } from '../capture/index.ts'
export { parseIp } from '../wire/index.ts'
export { MappingError } from './error.ts'
export { type Mapping, type MappingKind, parseMapping, parseMappings } from './mappings.ts'
export {
  isSeen,
  isSend,
  type MessageGaps,
  type MessageOp,
  messageOps,
  notifies,
  type TraceConnection,
  type TraceEnd,
  type TraceMessage,
  type Wait,
  waits,
} from './message.ts'
export { mostMessages, readMessages, type TraceMessages } from './messages.ts'
export { type Pace, Pacer } from './pacer.ts'
export {
  type BadPolicy,
  badPolicies,
  type PacketCounts,
  type PacketOut,
  type PacketReplayOptions,
  type PacketReplayResult,
  replayPackets,
} from './packets.ts'

export { trafficClassOf, UdpPayload } from './udp-payload.ts'
