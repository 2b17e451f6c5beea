/** Attributes of management: any bytes can be read; what was read and written again is the same; a value comes back as it was. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  classPortInfoCodec,
  type HeaderCodec,
  hasRmpp,
  madDataOffset,
  nodeInfoCodec,
  portCountersCodec,
  portCountersExtendedCodec,
  portInfoCodec,
  rmppCodec,
  smpCodec,
} from '../../src/wire/index.ts'
import { holds } from '../property.ts'

const codecs: readonly HeaderCodec<object>[] = [
  nodeInfoCodec,
  portInfoCodec,
  portCountersCodec,
  portCountersExtendedCodec,
  classPortInfoCodec,
  rmppCodec,
  smpCodec,
] as unknown as HeaderCodec<object>[]

for (const codec of codecs)
  test(`${codec.name}: what is read of any bytes can be written, and is then the same`, () => {
    const bytes = fc.uint8Array({ minLength: codec.length, maxLength: codec.length })
    holds(
      fc.property(bytes, (b) => {
        const value = codec.read(b, 0)
        const again = new Uint8Array(codec.length)
        codec.emit(value, again, 0)
        expect(codec.read(again, 0)).toEqual(value)
        // Bits that no field has are zeros, all others as they were.
        for (let i = 0; i < b.length; i++) expect(again[i]! & ~b[i]!).toBe(0)
      }),
      60,
    )
    expect(codec.parse(new Uint8Array(codec.length - 1), 0, codec.length - 1)).toBe('tooShort')
  })

test('fields of PortInfo are where the specification has them', () => {
  const info = portInfoCodec.read(new Uint8Array(64), 0)
  const at = (change: Partial<typeof info>): [number, number][] => {
    const bytes = new Uint8Array(64)
    portInfoCodec.emit({ ...info, ...change }, bytes, 0)
    return [...bytes.entries()].filter(([, byte]) => byte !== 0)
  }
  expect(at({ lid: 0x1234 })).toEqual([
    [16, 0x12],
    [17, 0x34],
  ])
  expect(at({ portState: 4 })).toEqual([[32, 0x04]])
  expect(at({ portPhysState: 5 })).toEqual([[33, 0x50]])
  expect(at({ lmc: 7, mKeyProtectBits: 3 })).toEqual([[34, 0xc7]])
  expect(at({ operationalVls: 1, filterRawOutbound: true })).toEqual([[43, 0x11]])
  expect(at({ clientReregister: true, subnetTimeout: 18 })).toEqual([[51, 0x92]])
  expect(at({ linkRoundTripLatency: 0x010203 })).toEqual([
    [57, 1],
    [58, 2],
    [59, 3],
  ])
})

test('data of a class begin behind its headers', () => {
  expect([3, 6, 0x10, 0x30, 0x4f, 4].map(madDataOffset)).toEqual([56, 64, 64, 40, 40, 24])
  expect([1, 3, 4, 0x21, 0x2f, 0x30, 0x4f, 0x50].filter(hasRmpp)).toEqual([3, 0x30, 0x4f])
})
