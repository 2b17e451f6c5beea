/**
 * The reliable multi-packet protocol (RMPP), by which messages that are longer than a MAD travel as several (InfiniBand Architecture
 * Specification, volume 1, 13.6). Its header follows that of the MAD, in the classes that have it.
 */
import { bits, HeaderCodec, u8Field, u32Field } from './codec.ts'
import { isVendorClass2, Mad, MgmtClass } from './mad.ts'

/** Offsets of the fields in the MAD. */
export const Rmpp = {
  version: 24,
  type: 25,
  flags: 26,
  status: 27,
  /** Number of the segment; in an ACK, number of the last segment received. */
  segment: 28,
  /** Length in the first segment: total; in the last: its own; in an ACK: number of the last segment that may be sent. */
  payloadLength: 32,
  /** Length of the headers of the MAD and of RMPP together. */
  end: 36,
} as const

export const rmppVersion = 1
/** Bytes after both headers, which payload lengths include. */
export const rmppSegmentBytes: number = Mad.totalLength - Rmpp.end

export const RmppType = { none: 0, data: 1, ack: 2, stop: 3, abort: 4 } as const
export const RmppFlag = { active: 1, first: 2, last: 4 } as const

/** Status of STOP and ABORT (13.6.2.1). */
export const RmppStatus = {
  normal: 0,
  resourcesExhausted: 1,
  totalTimeTooLong: 118,
  inconsistentLength: 119,
  inconsistentFirst: 120,
  badType: 121,
  windowTooSmall: 122,
  segmentTooBig: 123,
  badStatus: 124,
  unsupportedVersion: 125,
  tooManyRetries: 126,
  unspecified: 127,
} as const

export interface RmppFields {
  version: number
  /** RmppType. */
  type: number
  respTime: number
  /** RmppFlag. */
  flags: number
  status: number
  segment: number
  payloadLength: number
}

/** Codec for reading only: it begins with the fields of the MAD. */
export const rmppCodec: HeaderCodec<RmppFields> = new HeaderCodec<RmppFields>('RMPP', Rmpp.end, {
  version: u8Field(Rmpp.version),
  type: u8Field(Rmpp.type),
  respTime: bits(Rmpp.flags, 0, 5),
  flags: bits(Rmpp.flags, 5, 3),
  status: u8Field(Rmpp.status),
  segment: u32Field(Rmpp.segment),
  payloadLength: u32Field(Rmpp.payloadLength),
})

/** True if MADs of a class have the header of RMPP. */
export function hasRmpp(mgmtClass: number): boolean {
  switch (mgmtClass) {
    case MgmtClass.subnAdm:
    case MgmtClass.deviceManagement:
    case MgmtClass.deviceAdministration:
    case MgmtClass.bootInformation:
      return true
    default:
      return isVendorClass2(mgmtClass)
  }
}

/** Returns the offset of a class's data in its MADs, after all headers, which each segment repeats. */
export function madDataOffset(mgmtClass: number): number {
  switch (mgmtClass) {
    case MgmtClass.subnAdm:
      return 56
    case MgmtClass.deviceManagement:
    case MgmtClass.deviceAdministration:
    case MgmtClass.bootInformation:
      return 64
    default:
      return isVendorClass2(mgmtClass) ? 40 : Mad.length
  }
}
