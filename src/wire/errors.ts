/**
 * The two kinds of errors.
 *
 * Received or captured bytes never cause an exception: parsing them returns a `MalformedReason` instead of a value, a stable name
 * that counters and reports use. Misuse of this library (a value that does not fit its field, a header that the opcode
 * requires and the caller omitted) throws a `WireError`.
 */

/** Reasons for which bytes are malformed. The names are stable. */
export const malformedReasons = {
  tooShort: 'fewer bytes than the fixed header has',
  // BTH and the headers after it (checkPacket)
  transportVersion: 'the transport version of the BTH is not 0',
  unknownOpcode: 'no such BTH opcode',
  truncatedHeaders: 'the packet ends within the extension headers that its opcode requires',
  notWords: 'the length from the BTH to the pad is no multiple of four bytes',
  unexpectedPayload: 'a payload or a pad where the opcode allows none',
  padExceedsPayload: 'more pad bytes than bytes behind the headers',
  // What a responder NAKs (checkLengths)
  notPathMtu: 'the payload of a first or middle packet is not 256, 512, 1024, 2048 or 4096 bytes',
  emptyLast: 'the payload of a last packet is empty',
  payloadTooLong: 'a payload of more than 4096 bytes',
  dmaLengthMismatch: 'the payload does not agree with the DMA length of the RETH',
  dmaLengthTooLong: 'a DMA length of more than 2 GiB',
  // Layers below
  linkVersion: 'the link version of the LRH is not 0',
  linkLength: 'the packet length of the LRH is not that of the packet',
  linkNext: 'what follows the LRH is no InfiniBand transport',
  ipVersion: 'the version in the IP header or GRH is not the announced one',
  ipHeaderLength: 'the IPv4 header length is below 20 bytes or behind the end',
  ipLength: 'the IP length is behind the end of the packet, or shorter than the headers',
  ipChecksum: 'the IPv4 header checksum is wrong',
  fragment: 'an IP fragment, which RoCE packets must not be',
  udpLength: 'the UDP length is not that of the IP payload',
  truncatedVlan: 'the frame ends within a VLAN tag',
  tooManyExtensions: 'more than 16 IPv6 extension headers or VLAN tags',
  // Not damaged, but not for this library
  notIp: 'an Ethernet type that is neither IPv4, IPv6 nor RoCEv1',
  notUdp: 'an IP protocol other than UDP',
  notRocePort: 'a UDP port other than 4791',
  notRoce: 'a GRH whose next header is not the BTH',
  // Management
  madVersion: 'the base or class version of the MAD is not known',
  madClass: 'the management class is not the expected one',
  madMethod: 'the method of a CM message is not Send',
  cmAttribute: 'no such CM message',
  additionalInfoLength: 'the additional information is longer than its field',
  cmaVersion: 'the version of the RDMA CM header is not 0',
  cmaIpVersion: 'the IP version in the RDMA CM header is neither 4 nor 6',
} as const
export type MalformedReason = keyof typeof malformedReasons

/** True if parsing returned a reason instead of a value. */
export function isMalformed(parsed: unknown): parsed is MalformedReason {
  return typeof parsed === 'string'
}

export const wireErrorCodes = {
  ERR_WIRE_VALUE: 'a value does not fit its field',
  ERR_WIRE_SPACE: 'the buffer is too short for what is to be written',
  ERR_WIRE_OPCODE: 'there is no such opcode',
  ERR_WIRE_HEADER: 'a header that the opcode requires is missing, or one is given that it does not have',
  ERR_WIRE_PAYLOAD: 'the opcode does not allow this payload',
} as const
export type WireErrorCode = keyof typeof wireErrorCodes

export class WireError extends Error {
  override readonly name = 'WireError'
  readonly code: WireErrorCode

  constructor(code: WireErrorCode, message: string) {
    super(`${message} (${code})`)
    this.code = code
  }
}
