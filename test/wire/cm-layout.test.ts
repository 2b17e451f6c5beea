/**
 * Where the fields of the CM messages are: one bit or byte is set in a body of zeros, and the field that shows it is the
 * one that the standard puts there (tables 106 to 120). Offsets count from behind the MAD header.
 */
import { describe, expect, test } from 'vitest'
import { type CmType, cmCodecs } from '../../src/wire/index.ts'

type Row = [byte: number, set: number[], field: string, value: number | bigint | boolean]

const ids: Row[] = [
  [0, [1, 2, 3, 4], 'localCommId', 0x01020304],
  [4, [1, 2, 3, 4], 'remoteCommId', 0x01020304],
]
const path = (at: number, name: string): Row[] => [
  [at, [1, 2], `${name}.localLid`, 0x0102],
  [at + 2, [1, 2], `${name}.remoteLid`, 0x0102],
  [at + 36, [0x12, 0x34, 0x50], `${name}.flowLabel`, 0x12345],
  [at + 39, [0x3f], `${name}.packetRate`, 0x3f],
  [at + 40, [7], `${name}.trafficClass`, 7],
  [at + 41, [7], `${name}.hopLimit`, 7],
  [at + 42, [0xf0], `${name}.serviceLevel`, 15],
  [at + 42, [0x08], `${name}.subnetLocal`, true],
  [at + 43, [0xf8], `${name}.localAckTimeout`, 31],
]
const layout: Record<CmType, Row[]> = {
  REQ: [
    ids[0]!,
    [8, [1, 2, 3, 4, 5, 6, 7, 8], 'serviceId', 0x0102030405060708n],
    [16, [1, 2, 3, 4, 5, 6, 7, 8], 'localCaGuid', 0x0102030405060708n],
    [28, [1, 2, 3, 4], 'localQkey', 0x01020304],
    [32, [1, 2, 3], 'localQpn', 0x010203],
    [35, [9], 'responderResources', 9],
    [36, [1, 2, 3], 'localEecn', 0x010203],
    [39, [9], 'initiatorDepth', 9],
    [40, [1, 2, 3], 'remoteEecn', 0x010203],
    [43, [0xf8], 'remoteCmResponseTimeout', 31],
    [43, [0x06], 'transportServiceType', 3],
    [43, [0x01], 'endToEndFlowControl', true],
    [44, [1, 2, 3], 'startingPsn', 0x010203],
    [47, [0xf8], 'localCmResponseTimeout', 31],
    [47, [0x07], 'retryCount', 7],
    [48, [1, 2], 'pkey', 0x0102],
    [50, [0xf0], 'pathMtu', 15],
    [50, [0x08], 'rdcExists', true],
    [50, [0x07], 'rnrRetryCount', 7],
    [51, [0xf0], 'maxCmRetries', 15],
    [51, [0x08], 'srq', true],
    [51, [0x07], 'extendedTransportType', 7],
    ...path(52, 'primary'),
    ...path(96, 'alternate'),
    [139, [0x04], 'sapSupported', true],
  ],
  MRA: [...ids, [8, [0xc0], 'messageMraed', 3], [9, [0xf8], 'serviceTimeout', 31]],
  REJ: [
    ...ids,
    [8, [0xc0], 'messageRejected', 3],
    [9, [0xfe], 'additionalInfoLength', 127],
    [10, [1, 2], 'reason', 0x0102],
  ],
  REP: [
    ...ids,
    [8, [1, 2, 3, 4], 'localQkey', 0x01020304],
    [12, [1, 2, 3], 'localQpn', 0x010203],
    [16, [1, 2, 3], 'localEecn', 0x010203],
    [20, [1, 2, 3], 'startingPsn', 0x010203],
    [24, [9], 'responderResources', 9],
    [25, [9], 'initiatorDepth', 9],
    [26, [0xf8], 'targetAckDelay', 31],
    [26, [0x06], 'failoverAccepted', 3],
    [26, [0x01], 'endToEndFlowControl', true],
    [27, [0xe0], 'rnrRetryCount', 7],
    [27, [0x10], 'srq', true],
    [28, [1, 2, 3, 4, 5, 6, 7, 8], 'localCaGuid', 0x0102030405060708n],
  ],
  RTU: ids,
  DREQ: [...ids, [8, [1, 2, 3], 'remoteQpn', 0x010203]],
  DREP: ids,
  SIDR_REQ: [
    [0, [1, 2, 3, 4], 'requestId', 0x01020304],
    [4, [1, 2], 'pkey', 0x0102],
    [8, [1, 2, 3, 4, 5, 6, 7, 8], 'serviceId', 0x0102030405060708n],
  ],
  SIDR_REP: [
    [0, [1, 2, 3, 4], 'requestId', 0x01020304],
    [4, [9], 'status', 9],
    [5, [9], 'additionalInfoLength', 9],
    [8, [1, 2, 3], 'qpn', 0x010203],
    [12, [1, 2, 3, 4, 5, 6, 7, 8], 'serviceId', 0x0102030405060708n],
    [20, [1, 2, 3, 4], 'qkey', 0x01020304],
  ],
  LAP: [
    ...ids,
    [12, [1, 2, 3], 'remoteQpn', 0x010203],
    [15, [0xf8], 'remoteCmResponseTimeout', 31],
    [20, [1, 2], 'alternate.localLid', 0x0102],
    [22, [1, 2], 'alternate.remoteLid', 0x0102],
    [56, [0x12, 0x34, 0x50], 'alternate.flowLabel', 0x12345],
    [59, [7], 'alternate.trafficClass', 7],
    [60, [7], 'alternate.hopLimit', 7],
    [61, [0x3f], 'alternate.packetRate', 0x3f],
    [62, [0xf0], 'alternate.serviceLevel', 15],
    [62, [0x08], 'alternate.subnetLocal', true],
    [63, [0xf8], 'alternate.localAckTimeout', 31],
  ],
  APR: [...ids, [8, [9], 'additionalInfoLength', 9], [9, [9], 'status', 9]],
}
/** Fields of bytes: where they begin and how many there are. */
const areas: Record<CmType, [field: string, byte: number, length: number][]> = {
  REQ: [
    ['primary.localGid', 56, 16],
    ['primary.remoteGid', 72, 16],
    ['alternate.localGid', 100, 16],
    ['alternate.remoteGid', 116, 16],
    ['privateData', 140, 92],
  ],
  MRA: [['privateData', 10, 222]],
  REJ: [
    ['additionalInfo', 12, 72],
    ['privateData', 84, 148],
  ],
  REP: [['privateData', 36, 196]],
  RTU: [['privateData', 8, 224]],
  DREQ: [['privateData', 12, 220]],
  DREP: [['privateData', 8, 224]],
  SIDR_REQ: [['privateData', 16, 216]],
  SIDR_REP: [
    ['additionalInfo', 24, 72],
    ['privateData', 96, 136],
  ],
  LAP: [
    ['alternate.localGid', 24, 16],
    ['alternate.remoteGid', 40, 16],
    ['privateData', 64, 168],
  ],
  APR: [
    ['additionalInfo', 12, 72],
    ['privateData', 84, 148],
  ],
}

/** { 'primary.hopLimit': 7, … }; bytes as hexadecimal text. */
function flat(value: object, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, v]): [string, unknown][] => {
      if (v instanceof Uint8Array) return [[prefix + key, Buffer.from(v).toString('hex')]]
      return typeof v === 'object' ? Object.entries(flat(v, `${key}.`)) : [[prefix + key, v]]
    }),
  )
}

describe.each(Object.keys(layout) as CmType[])('%s', (type) => {
  const read = (b: Uint8Array) => flat(cmCodecs[type].read(b, 0))
  const zero = read(new Uint8Array(232))

  test.each(layout[type])('byte %i, %j: %s', (byte, set, field, value) => {
    const b = new Uint8Array(232)
    b.set(set, byte)
    expect(read(b)).toEqual({ ...zero, [field]: value })
  })

  test.each(areas[type])('%s: from byte %i, %i bytes', (field, byte, length) => {
    const b = new Uint8Array(232)
    const text = Uint8Array.from({ length }, (_, i) => i + 1)
    b.set(text, byte)
    expect(read(b)).toEqual({ ...zero, [field]: Buffer.from(text).toString('hex') })
  })

  test('there are no other fields', () => {
    const fields = [...layout[type].map(([, , field]) => field), ...areas[type].map(([field]) => field)]
    expect(fields.sort()).toEqual(Object.keys(zero).sort())
  })
})
