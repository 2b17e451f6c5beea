/**
 * The reliable multi-packet protocol (RMPP), by which messages that are longer than a MAD travel as several (InfiniBand Architecture
 * Specification, volume 1, 13.6). Its header follows that of the MAD, in the classes that have it.
 */
import { bits, HeaderCodec, u8Field, u32Field } from './codec.ts'
import { isVendorClass2, Mad, MgmtClass } from './mad.ts'

/** Where the fields are in the MAD. */
export const Rmpp = {
  version: 24,
  type: 25,
  flags: 26,
  status: 27,
  /** Of a segment: its number; of an ACK: that of the last one that has come. */
  segment: 28,
  /** Of the first segment: the length of all; of the last: its own; of an ACK: the last segment that may be sent. */
  payloadLength: 32,
  /** Headers of the MAD and of RMPP together. */
  end: 36,
} as const

export const rmppVersion = 1
/** Bytes behind both headers, which lengths of payload count. */
export const rmppSegmentBytes: number = Mad.totalLength - Rmpp.end

export const RmppType = { none: 0, data: 1, ack: 2, stop: 3, abort: 4 } as const
export const RmppFlag = { active: 1, first: 2, last: 4 } as const

/** Of STOP and ABORT (13.6.2.1). */
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

/** Only for reading: it begins with the fields of the MAD. */
export const rmppCodec: HeaderCodec<RmppFields> = new HeaderCodec<RmppFields>('RMPP', Rmpp.end, {
  version: u8Field(Rmpp.version),
  type: u8Field(Rmpp.type),
  respTime: bits(Rmpp.flags, 0, 5),
  flags: bits(Rmpp.flags, 5, 3),
  status: u8Field(Rmpp.status),
  segment: u32Field(Rmpp.segment),
  payloadLength: u32Field(Rmpp.payloadLength),
})

/** Whether MADs of a class have RMPP's header. */
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

/** Where the data of a class begin in its MADs, behind all headers, which each segment repeats. */
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
