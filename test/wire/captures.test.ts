/** Golden bytes: every packet that Soft-RoCE put on the wire in the captures. */
import { describe, expect, test } from 'vitest'
import {
  type CmMessage,
  checkAll,
  emitCm,
  emitCma,
  emitFrame,
  emitPacket,
  formatIp,
  frameLength,
  IcrcFlow,
  icrcMatches,
  icrcOfRoceV2,
  isMalformed,
  Layers,
  locateEthernet,
  locateIp,
  opcodeName,
  packetLength,
  parseCm,
  parseCma,
  parseFrame,
  parsePacket,
  rdmaPortOf,
  u16,
  u32le,
} from '../../src/wire/index.ts'
import { captureNames, packetsOf, placesOf } from './captures.ts'

test('there are twelve captures with 2254 packets', () => {
  expect(captureNames).toHaveLength(12)
  expect(captureNames.reduce((sum, name) => sum + packetsOf(name).length, 0)).toBe(2254)
})

describe.each(captureNames)('%s', (name) => {
  const packets = packetsOf(name)

  test('layers are found where they are, and every ICRC is right', () => {
    const layers = new Layers()
    for (const { number, frame } of packets) {
      const { ip, udp, bth, icrc } = placesOf(frame)
      expect(locateEthernet(frame, 0, frame.length, layers), `packet ${number}`).toBeUndefined()
      expect(layers).toMatchObject({ ethernet: 0, tags: 0, ip, ipVersion: 4, udp, bth, icrc, grh: -1, lrh: -1 })
      expect(icrcMatches(frame, layers), `ICRC of packet ${number}`).toBe(true)
      expect(locateIp(frame, ip, frame.length, layers)).toBeUndefined()
      expect(layers).toMatchObject({ ethernet: -1, ip, bth, icrc })
    }
  })

  test('the ICRC and the IP identification follow from what a UDP socket sees', () => {
    for (const { number, frame } of packets) {
      const { ip, udp, bth, icrc } = placesOf(frame)
      const identification = u16(frame, ip + 4)
      const flow = new IcrcFlow(frame.slice(ip + 12, ip + 16), frame.slice(ip + 16, ip + 20), u16(frame, udp))
      const payload = frame.slice(bth, icrc + 4)
      expect(flow.check(payload, 0, payload.length - 4), `packet ${number}`).toBe(identification)
      expect(flow.compute(payload, 0, payload.length - 4, identification)).toBe(u32le(frame, icrc))
      expect(icrcOfRoceV2(frame, ip, bth, icrc)).toBe(u32le(frame, icrc))
      const copy = payload.slice()
      copy.fill(0, copy.length - 4)
      flow.write(copy, 0, copy.length - 4, identification)
      expect(Buffer.compare(copy, payload), `packet ${number}`).toBe(0)
    }
  })

  test('packets keep all rules and are emitted as the same bytes', () => {
    for (const { number, frame } of packets) {
      const { bth, icrc } = placesOf(frame)
      expect(checkAll(frame, bth, icrc), `packet ${number}`).toBeUndefined()
      const packet = parsePacket(frame, bth, icrc)
      if (isMalformed(packet)) throw new Error(`packet ${number}: ${packet}`)
      expect(packetLength(packet)).toBe(icrc - bth)
      const out = new Uint8Array(icrc - bth)
      expect(emitPacket(packet, out, 0)).toBe(out.length)
      expect(Buffer.compare(out, frame.subarray(bth, icrc)), `packet ${number}`).toBe(0)
    }
  })

  // IBA CA17-6, CA17-8, CA17-10
  test('frames are emitted as the same bytes, with computed lengths, checksum and ICRC', () => {
    for (const { number, frame } of packets) {
      const parsed = parseFrame(frame, 0, frame.length)
      if (isMalformed(parsed)) throw new Error(`packet ${number}: ${parsed}`)
      const { icrc, ...rest } = parsed
      expect(icrc).toBe(u32le(frame, placesOf(frame).icrc))
      const out = new Uint8Array(frameLength(rest))
      expect(emitFrame(rest, out, 0)).toBe(out.length)
      expect(Buffer.compare(out, frame), `packet ${number}`).toBe(0)
    }
  })

  test('opcodes', () => {
    const count: Record<string, number> = {}
    for (const { frame } of packets) {
      const opcode = opcodeName(frame[placesOf(frame).bth]!)
      count[opcode] = (count[opcode] ?? 0) + 1
    }
    expect(count).toMatchSnapshot()
  })

  test('CM messages are emitted as the same bytes', () => {
    const messages = cmMessagesOf(name)
    for (const { bytes, message } of messages) {
      const out = new Uint8Array(256)
      expect(emitCm(message, out, 0)).toBe(256)
      expect(Buffer.compare(out, bytes), message.type).toBe(0)
    }
    expect(messages.map(({ message }) => message.type)).toMatchSnapshot()
  })
})

test('a connection request of rping, field by field', () => {
  const { message } = cmMessagesOf('rping.pcap')[0]!
  if (message.type !== 'REQ') throw new Error(`the first message is a ${message.type}`)
  expect(rdmaPortOf(message.serviceId)).toEqual({ portSpace: 0x0106, port: 7174 })
  expect(message).toMatchObject({
    transportServiceType: 0,
    pkey: 0xffff,
    pathMtu: 5,
    retryCount: 7,
    rnrRetryCount: 7,
    responderResources: 1,
    initiatorDepth: 1,
    remoteCmResponseTimeout: 20,
    localCmResponseTimeout: 20,
    maxCmRetries: 15,
    srq: false,
  })
  expect(formatIp(message.primary.localGid)).toBe('::ffff:10.77.0.3')
  expect(formatIp(message.primary.remoteGid)).toBe('::ffff:10.77.0.2')
  expect(formatIp(message.alternate.localGid)).toBe('::')
  const cma = parseCma(message.privateData, 0, message.privateData.length)
  if (isMalformed(cma)) throw new Error(cma)
  expect([formatIp(cma.source), formatIp(cma.destination)]).toEqual(['10.77.0.3', '10.77.0.2'])
  const out = new Uint8Array(36)
  emitCma(cma, out, 0)
  expect(out).toEqual(message.privateData.slice(0, 36))
})

/** All CM messages of a capture: UD packets to QP 1. */
function cmMessagesOf(name: string): { bytes: Uint8Array; message: CmMessage }[] {
  const found: { bytes: Uint8Array; message: CmMessage }[] = []
  for (const { number, frame } of packetsOf(name)) {
    const { bth, icrc } = placesOf(frame)
    const packet = parsePacket(frame, bth, icrc)
    if (isMalformed(packet) || packet.bth.destQp !== 1) continue
    const message = parseCm(packet.payload, 0, packet.payload.length)
    if (isMalformed(message)) throw new Error(`packet ${number}: ${message}`)
    found.push({ bytes: packet.payload, message })
  }
  return found
}
