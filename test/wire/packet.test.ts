/** Values become bytes and the same values again; what is not allowed is refused, by name. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  Bth,
  type CmMessage,
  checkAll,
  checkLengths,
  checkPacket,
  cmMessage,
  cmPath,
  cnpPacket,
  emitCm,
  emitCma,
  emitEthernet,
  emitFrame,
  emitPacket,
  frameLength,
  grhCodec,
  headerLength,
  ipv4Checksum,
  ipv4Codec,
  ipv6Codec,
  isMalformed,
  isPathMtu,
  Layers,
  locateEthernet,
  locateGrh,
  locateIp,
  locateLrh,
  lrhCodec,
  madCodec,
  malformedReasons,
  opcodeTable,
  packetLength,
  parseCm,
  parseCma,
  parseEthernet,
  parseFrame,
  parseIpFrame,
  parsePacket,
  put16,
  put32,
  RdmaPortSpace,
  type RocePacket,
  rdmaPortOf,
  rdmaServiceId,
  u16,
  udpChecksum,
  udpCodec,
  WireError,
  WireOpcode,
} from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { anyCmMessage, anyFrame, anyPacket, bytes, uint } from './arbitraries.ts'

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ''), 'hex'))
const emitted = (packet: RocePacket): Uint8Array => {
  const b = new Uint8Array(packetLength(packet))
  emitPacket(packet, b, 0)
  return b
}

describe('round trips', () => {
  const whole = 'packets'
  test(whole, () => {
    holds(
      fc.property(fc.tuple(anyPacket, uint(5)), ([packet, at]) => {
        const length = packetLength(packet)
        expect(length & 3).toBe(0)
        expect(length).toBe(headerLength[packet.bth.opcode]! + Math.ceil(packet.payload.length / 4) * 4)
        // Other bytes around it stay as they are, and what was there before does not matter.
        const b = new Uint8Array(at + length + 9).fill(0xa5)
        expect(emitPacket(packet, b, at)).toBe(at + length)
        expect(b.subarray(0, at).every((byte) => byte === 0xa5)).toBe(true)
        expect(b.subarray(at + length).every((byte) => byte === 0xa5)).toBe(true)
        expect(checkPacket(b, at, at + length)).toBeUndefined()
        expect(parsePacket(b, at, at + length)).toEqual(packet)
      }),
      300,
    )
  })

  const frames = 'frames, with tags, over IPv4 and IPv6'
  test(frames, () => {
    holds(
      fc.property(anyFrame, (frame) => {
        const b = new Uint8Array(frameLength(frame))
        expect(emitFrame(frame, b, 0)).toBe(b.length)
        const parsed = parseFrame(b, 0, b.length)
        expect(parsed).toEqual({ ...frame, icrc: expect.any(Number) })
        const { ethernet, ...rest } = frame
        const ip = 14 + 4 * ethernet!.tags.length
        expect(parseIpFrame(b, ip, b.length)).toEqual({ ...rest, icrc: expect.any(Number) })
        if (frame.ipv4) expect(ipv4Checksum(b, ip, ip + 20)).toBe(0)
      }),
      300,
    )
  })

  const cm = 'CM messages'
  test(cm, () => {
    holds(
      fc.property(anyCmMessage, (message) => {
        const b = new Uint8Array(300).fill(0x5a)
        expect(emitCm(message, b, 7)).toBe(7 + 256)
        expect(parseCm(b, 7, 7 + 256)).toEqual(message)
      }),
      300,
    )
  })

  const cma = 'the RDMA CM header and service ids'
  test(cma, () => {
    const addresses = fc.constantFrom(4, 16).chain((length) => fc.tuple(bytes(length), bytes(length)))
    holds(
      fc.property(fc.tuple(addresses, uint(16)), ([[source, destination], port]) => {
        const b = new Uint8Array(36)
        emitCma({ port, source, destination }, b, 0)
        expect(parseCma(b, 0, 36)).toEqual({ port, source, destination })
        for (const portSpace of Object.values(RdmaPortSpace))
          expect(rdmaPortOf(rdmaServiceId(portSpace, port))).toEqual({ portSpace, port })
      }),
      300,
    )
    expect(rdmaPortOf(0x1000_0000_0106_0001n)).toBeUndefined()
  })

  const link = 'LRH, GRH, MAD, UDP'
  test(link, () => {
    const values = fc.tuple(bytes(40), bytes(8), bytes(24), bytes(8))
    holds(
      fc.property(values, ([grh, lrh, mad, udp]) => {
        // Any bytes with the right version, reserved bits cleared, are the bytes that their value is written as.
        grh[0] = 0x60 | (grh[0]! & 15)
        lrh[0]! &= 0xf0
        lrh[1]! &= 0xf3
        lrh[4]! &= 0x07
        mad[0] = 1
        mad.fill(0, 18, 20)
        for (const [codec, b] of [
          [grhCodec, grh],
          [ipv6Codec, grh],
          [lrhCodec, lrh],
          [madCodec, mad],
          [udpCodec, udp],
        ] as const) {
          const value = codec.parse(b, 0, b.length)
          if (isMalformed(value)) throw new Error(value)
          const out = new Uint8Array(b.length).fill(0xff)
          expect(codec.emit(value as never, out, 0)).toBe(b.length)
          expect(out).toEqual(b)
          expect(codec.parse(b, 0, b.length - 1)).toBe('tooShort')
        }
      }),
      300,
    )
  })
})

describe('what a receiver drops (checkPacket)', () => {
  const good = (): Uint8Array => emitted(sendOnly(5))

  test('a good one is good', () => expect(checkPacket(good(), 0, 20)).toBeUndefined())
  test('tooShort', () => expect(checkPacket(good(), 0, 11)).toBe('tooShort'))
  // IBA 9.6.1
  test('transportVersion', () => {
    const b = good()
    b[Bth.flags]! |= 1
    expect(checkPacket(b, 0, 20)).toBe('transportVersion')
    expect(parsePacket(b, 0, 20)).toBe('transportVersion')
  })
  test.each(Array.from({ length: 256 }, (_, i) => i).filter((i) => !opcodeTable[i]))('unknownOpcode %i', (opcode) => {
    const b = new Uint8Array(64)
    b[0] = opcode
    expect(checkPacket(b, 0, 64)).toBe('unknownOpcode')
  })
  test.each(opcodeTable.filter((info) => info !== undefined))('truncatedHeaders of $name', ({ opcode }) => {
    const b = new Uint8Array(80)
    b[0] = opcode
    const headers = headerLength[opcode]!
    for (let end = 12; end < headers; end++) expect(checkPacket(b, 0, end)).toBe('truncatedHeaders')
    expect(checkPacket(b, 0, headers)).toBeUndefined()
  })
  test('notWords', () => {
    for (const end of [17, 18, 19]) expect(checkPacket(good(), 0, end)).toBe('notWords')
  })
  test('unexpectedPayload', () => {
    const b = new Uint8Array(40)
    for (const opcode of [WireOpcode.RcAck, WireOpcode.RcReadRequest, WireOpcode.RcFetchAdd, WireOpcode.Cnp]) {
      const headers = headerLength[opcode]!
      b[0] = opcode
      expect(checkPacket(b, 0, headers + 4)).toBe('unexpectedPayload')
      b[1] = 0x10
      expect(checkPacket(b, 0, headers)).toBe('unexpectedPayload')
      b[1] = 0
    }
  })
  test('padExceedsPayload', () => {
    const b = emitted(sendOnly(0))
    b[1] = 0x10
    expect(checkPacket(b, 0, 12)).toBe('padExceedsPayload')
  })
})

describe('what a responder refuses (checkLengths)', () => {
  const flags = { solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: false }
  const make = (opcode: number, length: number, more: Partial<RocePacket> = {}): Uint8Array =>
    emitted({ bth: { opcode, ...flags, destQp: 1, psn: 2 }, payload: new Uint8Array(length), ...more })
  const check = (b: Uint8Array) => checkLengths(b, 0, b.length)
  const reth = (dmaLength: number) => ({ reth: { va: 0n, rkey: 0, dmaLength } })

  // IBA 9.7.4.1.6
  test('first and middle packets are as long as a path MTU', () => {
    for (const opcode of [WireOpcode.RcSendFirst, WireOpcode.UcSendMiddle]) {
      for (const mtu of [256, 512, 1024, 2048, 4096]) expect(check(make(opcode, mtu))).toBeUndefined()
      for (const length of [0, 1, 128, 255, 257, 768, 4095]) expect(check(make(opcode, length))).toBe('notPathMtu')
    }
  })
  test('a last packet is not empty, none is longer than the largest MTU', () => {
    expect(check(make(WireOpcode.RcSendLast, 0))).toBe('emptyLast')
    expect(check(make(WireOpcode.RcSendLast, 1))).toBeUndefined()
    expect(check(make(WireOpcode.RcSendOnly, 0))).toBeUndefined()
    expect(check(make(WireOpcode.RcSendOnly, 4096))).toBeUndefined()
    expect(check(make(WireOpcode.RcSendOnly, 4097))).toBe('payloadTooLong')
    expect(check(make(WireOpcode.RcSendFirst, 8192))).toBe('payloadTooLong')
  })
  // IBA 9.7.4.1.6
  test('the DMA length agrees with the payload', () => {
    expect(check(make(WireOpcode.RcWriteOnly, 7, reth(7)))).toBeUndefined()
    expect(check(make(WireOpcode.RcWriteOnly, 7, reth(8)))).toBe('dmaLengthMismatch')
    const imm = { immDt: { data: 7 } }
    expect(check(make(WireOpcode.UcWriteOnlyWithImm, 7, { ...reth(7), ...imm }))).toBeUndefined()
    expect(check(make(WireOpcode.UcWriteOnlyWithImm, 8, { ...reth(7), ...imm }))).toBe('dmaLengthMismatch')
    expect(check(make(WireOpcode.RcWriteFirst, 256, reth(257)))).toBeUndefined()
    expect(check(make(WireOpcode.RcWriteFirst, 256, reth(256)))).toBe('dmaLengthMismatch')
    expect(check(make(WireOpcode.RcAtomicWrite, 8, reth(8)))).toBeUndefined()
    expect(check(make(WireOpcode.RcAtomicWrite, 4, reth(8)))).toBe('dmaLengthMismatch')
    expect(check(make(WireOpcode.RcAtomicWrite, 8, reth(4)))).toBe('dmaLengthMismatch')
    expect(check(make(WireOpcode.RcReadRequest, 0, reth(2 ** 31)))).toBeUndefined()
    expect(check(make(WireOpcode.RcReadRequest, 0, reth(2 ** 31 + 1)))).toBe('dmaLengthTooLong')
    const feth = { feth: { placement: 1, selectivity: 0 } }
    expect(check(make(WireOpcode.RcFlush, 0, { ...reth(2 ** 32 - 1), ...feth }))).toBe('dmaLengthTooLong')
  })
  test('path MTUs', () => {
    const found = Array.from({ length: 9000 }, (_, i) => i).filter(isPathMtu)
    expect(found).toEqual([256, 512, 1024, 2048, 4096])
  })
  // IBA CA17-44
  test('a CNP keeps all rules', () => {
    const b = emitted(cnpPacket(0x123456))
    expect(Buffer.from(b).toString('hex')).toBe(`8100ffff4012345600000000${'00'.repeat(16)}`)
    expect(checkAll(b, 0, b.length)).toBeUndefined()
  })
})

describe('misuse throws a WireError that says what is wrong', () => {
  const b = new Uint8Array(128)
  const code = (body: () => unknown): string => {
    try {
      body()
    } catch (error) {
      if (error instanceof WireError) return error.code
      throw error
    }
    return 'nothing was thrown'
  }

  test('packets', () => {
    const packet = sendOnly(4)
    const { bth } = packet
    expect(code(() => emitPacket({ ...packet, bth: { ...bth, psn: 2 ** 24 } }, b, 0))).toBe('ERR_WIRE_VALUE')
    expect(code(() => emitPacket({ ...packet, bth: { ...bth, destQp: -1 } }, b, 0))).toBe('ERR_WIRE_VALUE')
    expect(code(() => emitPacket({ ...packet, bth: { ...bth, pkey: 1.5 } }, b, 0))).toBe('ERR_WIRE_VALUE')
    expect(code(() => emitPacket({ ...packet, bth: { ...bth, opcode: 0x1f } }, b, 0))).toBe('ERR_WIRE_OPCODE')
    expect(code(() => emitPacket({ ...packet, bth: { ...bth, opcode: -1 } }, b, 0))).toBe('ERR_WIRE_OPCODE')
    expect(code(() => emitPacket({ ...packet, immDt: { data: 1 } }, b, 0))).toBe('ERR_WIRE_HEADER')
    expect(code(() => emitPacket({ ...packet, bth: { ...bth, opcode: 5 } }, b, 0))).toBe('ERR_WIRE_HEADER')
    expect(code(() => emitPacket({ ...cnpPacket(1), payload: packet.payload }, b, 0))).toBe('ERR_WIRE_PAYLOAD')
    expect(code(() => emitPacket(packet, b, 120))).toBe('ERR_WIRE_SPACE')
    expect(() => emitPacket({ ...packet, bth: { ...bth, psn: 2 ** 24 } }, b, 0)).toThrow(
      'BTH.psn: 16777216 is not a whole number from 0 to 16777215 (ERR_WIRE_VALUE)',
    )
    expect(() => emitPacket({ ...packet, bth: { ...bth, opcode: 0x0a } }, b, 0)).toThrow(
      'RC_RDMA_WRITE_ONLY needs a RETH (`reth`) (ERR_WIRE_HEADER)',
    )
  })
  test('frames', () => {
    const frame = { sourcePort: 1, udpChecksum: 0, packet: sendOnly(0) }
    expect(code(() => emitFrame(frame, b, 0))).toBe('ERR_WIRE_HEADER')
    const ipv4 = { tos: 0, identification: 0, dontFragment: true, ttl: 1 }
    const [source, destination] = [new Uint8Array(4), new Uint8Array(4)]
    const good = { ...frame, ipv4: { ...ipv4, source, destination } }
    expect(code(() => emitFrame(good, b, 100))).toBe('ERR_WIRE_SPACE')
    expect(code(() => emitFrame({ ...good, sourcePort: 65536 }, b, 0))).toBe('ERR_WIRE_VALUE')
    const ethernet = { destination: new Uint8Array(5), source: new Uint8Array(6), tags: [] }
    expect(code(() => emitFrame({ ...good, ethernet }, b, 0))).toBe('ERR_WIRE_VALUE')
    expect(code(() => emitEthernet({ ...ethernet, etherType: 0 }, b, 120))).toBe('ERR_WIRE_SPACE')
    expect(code(() => emitFrame(good, b, 0))).toBe('nothing was thrown')
  })
  test('CM', () => {
    const rtu = cmMessage('RTU', 1n, { localCommId: 5 })
    expect(code(() => emitCm(rtu, b, 0))).toBe('ERR_WIRE_SPACE')
    const big = new Uint8Array(256)
    expect(code(() => emitCm({ ...rtu, privateData: new Uint8Array(225) }, big, 0))).toBe('ERR_WIRE_VALUE')
    expect(code(() => emitCm({ ...rtu, transactionId: -1n }, big, 0))).toBe('ERR_WIRE_VALUE')
    expect(() => emitCm(cmMessage('REQ', 1n, { primary: cmPath({ flowLabel: 2 ** 20 }) }), big, 0)).toThrow(
      'REQ.primary.flowLabel: 1048576 is not a whole number from 0 to 1048575',
    )
    const mixed = { port: 1, source: new Uint8Array(4), destination: new Uint8Array(16) }
    expect(code(() => emitCma(mixed, big, 0))).toBe('ERR_WIRE_VALUE')
  })
})

describe('damaged management datagrams', () => {
  const message: CmMessage = cmMessage('REJ', 5n, { localCommId: 1, remoteCommId: 2, reason: 28 })
  const good = (): Uint8Array => {
    const b = new Uint8Array(256)
    emitCm(message, b, 0)
    return b
  }
  test.each([
    ['madVersion', 0, 2],
    ['madClass', 1, 0x81],
    ['madVersion', 2, 1],
    ['madMethod', 3, 0x81],
    ['cmAttribute', 17, 0x1b],
    ['cmAttribute', 16, 0x01],
    ['additionalInfoLength', 24 + 9, 73 << 1],
  ])('%s', (reason, at, value) => {
    const b = good()
    expect(parseCm(b, 0, 256)).toEqual(message)
    b[at] = value
    expect(parseCm(b, 0, 256)).toBe(reason)
  })
  test('tooShort', () => expect(parseCm(good(), 0, 255)).toBe('tooShort'))
  test('cmaVersion, cmaIpVersion', () => {
    const b = new Uint8Array(36)
    expect(parseCma(b, 0, 36)).toBe('cmaIpVersion')
    b[0] = 1
    expect(parseCma(b, 0, 36)).toBe('cmaVersion')
    expect(parseCma(b, 0, 35)).toBe('tooShort')
  })
})

describe('layers of frames', () => {
  const frame = (): Uint8Array =>
    Uint8Array.from([
      ...hex('020000000001 020000000002 0800'),
      ...hex('45000030 00004000 4011 0000 0a000001 0a000002 c000 12b7 001c 0000'),
      ...hex('0460ffff 00000011 80000001 11223344 00000000'),
    ])
  const reason = (b: Uint8Array) => locateEthernet(b, 0, b.length, new Layers())
  const changed = (at: number, value: number): Uint8Array => {
    const b = frame()
    put16(b, at, value)
    return b
  }
  const v6 = (next: number, ...extensions: number[]): Uint8Array => {
    const b = Uint8Array.from([
      ...frame().subarray(0, 14),
      ...new Uint8Array(40),
      ...extensions,
      ...frame().subarray(34),
    ])
    put16(b, 12, 0x86dd)
    b[14] = 0x60
    put16(b, 18, b.length - 54)
    b[20] = next
    return b
  }

  test('a good one; padding behind it does not matter', () => {
    const layers = new Layers()
    const b = Uint8Array.from([...frame(), ...new Uint8Array(9)])
    expect(locateEthernet(b, 0, b.length, layers)).toBeUndefined()
    expect(layers).toMatchObject({ ethernet: 0, ip: 14, ipVersion: 4, udp: 34, bth: 42, icrc: 58 })
  })
  test.each([
    ['notIp', changed(12, 0x0806)],
    // IBA CA17-27
    ['ipVersion', changed(14, 0x5500)],
    ['ipHeaderLength', changed(14, 0x4400)],
    ['ipHeaderLength', changed(16, 12)],
    ['ipLength', changed(16, 49)],
    ['ipLength', changed(16, 27)],
    ['fragment', changed(20, 0x2000)],
    ['fragment', changed(20, 0x0001)],
    ['notUdp', changed(22, 0x4006)],
    // IBA CA17-20, CA17-21
    ['notRocePort', changed(36, 4790)],
    ['udpLength', changed(38, 27)],
    ['tooShort', frame().subarray(0, 13)],
    ['tooShort', frame().subarray(0, 33)],
    ['truncatedVlan', Uint8Array.from([...frame().subarray(0, 12), 0x81, 0, 0, 1])],
    ['tooManyExtensions', Uint8Array.from([...frame().subarray(0, 12), ...hex('81000001'.repeat(17)), 8, 0])],
    ['ipVersion', changed(12, 0x86dd)],
    ['ipLength', v6(17).subarray(0, 70)],
    ['notUdp', v6(6)],
    ['notUdp', v6(0, 59, 0, 0, 0, 0, 0, 0, 0)],
    ['fragment', v6(44, 17, 0, 0, 1, 0, 0, 0, 0)],
    ['ipLength', v6(60, 17, 200, 0, 0, 0, 0, 0, 0)],
    ['tooManyExtensions', v6(0, ...new Uint8Array(8 * 18))],
  ])('%s', (expected, b) => {
    expect(reason(b)).toBe(expected)
    expect(Object.keys(malformedReasons)).toContain(expected)
    expect(isMalformed(parseFrame(b, 0, b.length))).toBe(true)
    if (expected === 'truncatedVlan' || (expected === 'tooManyExtensions' && u16(b, 12) === 0x8100))
      expect(parseEthernet(b, 0, b.length)).toBe(expected)
  })
  test.each([
    ['none', v6(17), 54],
    ['hop by hop', v6(0, 17, 0, 0, 0, 0, 0, 0, 0), 62],
    ['routing of 16 bytes', v6(43, 17, 1, ...new Uint8Array(14)), 70],
    ['authentication of 12 bytes', v6(51, 17, 1, ...new Uint8Array(10)), 66],
    ['a fragment that is whole', v6(44, 17, 0, 0, 0, 0, 0, 0, 0), 62],
    ['two', v6(60, 43, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0), 70],
  ])('IPv6 extension headers: %s', (_, b, udp) => {
    const layers = new Layers()
    expect(locateEthernet(b, 0, b.length, layers)).toBeUndefined()
    expect(layers).toMatchObject({ ip: 14, ipVersion: 6, udp, bth: udp + 8, icrc: b.length - 4 })
  })
  test('stacked tags', () => {
    const b = frame()
    const tagged = Uint8Array.from([...b.subarray(0, 12), ...hex('88a80064 81000065'), ...b.subarray(12)])
    const layers = new Layers()
    expect(locateEthernet(tagged, 0, tagged.length, layers)).toBeUndefined()
    expect(layers).toMatchObject({ tags: 2, ip: 22, bth: 50 })
    const ethernet = parseEthernet(tagged, 0, tagged.length)
    expect(ethernet).toMatchObject({
      etherType: 0x0800,
      tags: [
        { etherType: 0x88a8, tci: 0x64 },
        { etherType: 0x8100, tci: 0x65 },
      ],
    })
  })
  test('RoCEv1, IP and LRH: what is wrong is said', () => {
    const layers = new Layers()
    const grh = new Uint8Array(60)
    grhCodec.emit(
      {
        trafficClass: 0,
        flowLabel: 0,
        payloadLength: 20,
        nextHeader: 0x1b,
        hopLimit: 1,
        sgid: grh.slice(0, 16),
        dgid: grh.slice(0, 16),
      },
      grh,
      0,
    )
    expect(locateGrh(grh, 0, 60, layers)).toBeUndefined()
    expect(layers).toMatchObject({ grh: 0, bth: 40, icrc: 56 })
    expect(locateGrh(grh, 0, 59, layers)).toBe('ipLength')
    expect(locateGrh(grh, 0, 39, layers)).toBe('tooShort')
    grh[6] = 17
    expect(locateGrh(grh, 0, 60, layers)).toBe('notRoce')
    expect(locateIp(new Uint8Array(0), 0, 0, layers)).toBe('tooShort')
    expect(locateIp(Uint8Array.of(0x10), 0, 1, layers)).toBe('ipVersion')
    const lrh = new Uint8Array(32)
    put16(lrh, 4, 8)
    expect(locateLrh(lrh, 0, 32, layers)).toBe('linkNext')
    lrh[0] = 1
    expect(locateLrh(lrh, 0, 32, layers)).toBe('linkVersion')
    expect(locateLrh(lrh, 0, 7, layers)).toBe('tooShort')
  })
  test('a wrong IPv4 checksum and options are refused by parseFrame', () => {
    const b = frame()
    expect(parseFrame(b, 0, b.length)).toBe('ipChecksum')
    put16(b, 24, ipv4Checksum(b, 14, 34))
    expect(parseFrame(b, 0, b.length)).toMatchObject({ sourcePort: 0xc000, packet: { bth: { psn: 1 } } })
    expect(ipv4Codec.parse(Uint8Array.from([0x46, ...b.subarray(15, 40)]), 0, 24)).toBe('ipHeaderLength')
  })
  test('the UDP checksum, beside a plain sum of the same words', () => {
    // 8 bytes, "abcdefgh", from ::1 port 1 to ::1 port 2.
    const one = Uint8Array.from([...new Uint8Array(15), 1])
    const b = hex('0001 0002 0010 0000 6162636465666768')
    let sum = 17 + 16 + 1 + 1 + 1 + 2 + 0x10 + 0x6162 + 0x6364 + 0x6566 + 0x6768
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
    expect(udpChecksum(b, 0, b.length, one, one)).toBe(~sum & 0xffff)
    put16(b, 6, 0x1234)
    expect(udpChecksum(b, 0, b.length, one, one)).toBe(~sum & 0xffff)
    expect(u16(b, 6)).toBe(0x1234)
  })
})

test('writing a RETH with a length above 2^31 is possible: a representation is not a policy', () => {
  const b = new Uint8Array(28)
  const reth = { va: 2n ** 64n - 1n, rkey: 0xffffffff, dmaLength: 0xffffffff }
  emitPacket({ ...sendOnly(0), bth: { ...sendOnly(0).bth, opcode: WireOpcode.RcReadRequest }, reth }, b, 0)
  expect(parsePacket(b, 0, 28)).toMatchObject({ reth })
  put32(b, 24, 0)
  expect(checkAll(b, 0, 28)).toBeUndefined()
})

function sendOnly(length: number): RocePacket {
  const bth = { opcode: 4, solicited: false, migReq: true, pkey: 0xffff, fecn: false, becn: false, ackReq: true }
  return { bth: { ...bth, destQp: 17, psn: 1 }, payload: new Uint8Array(length).fill(7) }
}
