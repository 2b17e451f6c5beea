/**
 * Damaged packets: the captures cut, lengthened, spliced and with bits and bytes changed, and bytes at random. Nothing
 * throws; what parses can be written and is then the same value; and nothing outside the packet plays a part.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import {
  checkAll,
  checkPacket,
  emitCm,
  emitCma,
  emitEthernet,
  emitFrame,
  emitPacket,
  ethernetLength,
  frameLength,
  IcrcFlow,
  icrcMatches,
  icrcOf,
  isMalformed,
  Layers,
  locateEthernet,
  locateGrh,
  locateIp,
  locateLrh,
  malformedReasons,
  packetLength,
  parseCm,
  parseCma,
  parseEthernet,
  parseFrame,
  parseIpFrame,
  parsePacket,
  syndromeText,
  vcrc,
} from '../../src/wire/index.ts'
import { holds, seeds } from '../property.ts'
import { seededBelow } from '../random.ts'
import { captureNames, packetsOf, placesOf } from './captures.ts'

const frames = captureNames.flatMap((name) => packetsOf(name).map(({ frame }) => frame))
/** Of each kind of packet and each CM message there are few; they are to be met as often as the others. */
const rare = frames.filter((frame, i) => {
  const kind = (f: Uint8Array): string => `${f[42]} ${f.length} ${f[42] === 0x64 ? f[79] : ''}`
  return frames.findIndex((other) => kind(other) === kind(frame)) === i
})
const perRun = 64
let mutated = 0

afterAll(() => console.log(`${mutated.toLocaleString('en')} damaged packets`))

test('damaged captures', () => {
  holds(
    fc.property(seeds, (seed) => {
      const random = seededBelow(seed)
      for (let i = 0; i < perRun; i++) {
        const from = random(2) ? rare : frames
        look(mutate(from[random(from.length)]!, random), random)
      }
      mutated += perRun
    }),
    120,
  )
})

test('random bytes', () => {
  const starts = fc.constantFrom('', '0800', '86dd60', '8100', '8915', '04', '64', '81', '0107020300')
  const inputs = fc.tuple(starts, fc.uint8Array({ maxLength: 400 }), seeds)
  holds(
    fc.property(inputs, ([start, bytes, seed]) => {
      const b = Uint8Array.from([...Buffer.from(start, 'hex'), ...bytes])
      look(b, seededBelow(seed))
      look(Uint8Array.from([...new Uint8Array(12), ...b]), seededBelow(seed))
      mutated += 2
    }),
    4000,
  )
})

test('of the bits of a packet that the ICRC covers, none changes unseen', () => {
  const layers = new Layers()
  for (const frame of rare) {
    const { ip, bth, icrc } = placesOf(frame)
    locateEthernet(frame, 0, frame.length, layers)
    const step = Math.ceil((icrc + 4 - ip) / 100)
    for (let at = ip; at < icrc + 4; at += at < bth + 12 ? 1 : step) {
      const masked = [1, 8, 10, 11, 26, 27, 32].includes(at - ip)
      for (let bit = 0; bit < 8; bit++) {
        frame[at]! ^= 1 << bit
        if (icrcMatches(frame, layers) !== masked) expect(`byte ${at}, bit ${bit}`).toBe('seen')
        frame[at]! ^= 1 << bit
      }
    }
  }
})

/** Everything that reads bytes, on b: from the start, and from somewhere within. */
function look(b: Uint8Array, random: (below: number) => number): void {
  const start = random(4) ? 0 : random(b.length + 1)
  const end = b.length
  const known = (reason: string | undefined): void => {
    if (reason !== undefined && !(reason in malformedReasons)) expect(malformedReasons).toHaveProperty(reason)
  }

  const layers = new Layers()
  for (const locate of [locateEthernet, locateIp, locateGrh, locateLrh]) {
    const reason = locate(b, start, end, layers)
    known(reason)
    if (reason === undefined) {
      if (!(layers.bth >= start && layers.bth + 12 <= layers.icrc && layers.icrc + 4 <= end))
        expect({ start, end, ...layers }).toBe('within the bytes')
      icrcOf(b, layers)
      packetAt(b, layers.bth, layers.icrc, known)
    }
  }
  packetAt(b, start, end, known)
  if (end - start >= 58) packetAt(b, start + 42, end - 4, known)

  const ethernet = parseEthernet(b, start, end)
  if (isMalformed(ethernet)) known(ethernet)
  else {
    const out = new Uint8Array(ethernetLength(ethernet))
    emitEthernet(ethernet, out, 0)
    same(out, b.subarray(start, start + out.length))
  }
  for (const parse of [parseFrame, parseIpFrame]) {
    const frame = parse(b, start, end)
    if (isMalformed(frame)) known(frame)
    else {
      const out = new Uint8Array(frameLength(frame))
      same(emitFrame(frame, out, 0), out.length)
      same(parse(out, 0, out.length), frame)
    }
  }
  for (const at of [start, start + 62]) {
    const message = parseCm(b, at, end)
    if (isMalformed(message)) known(message)
    else {
      const out = new Uint8Array(256)
      emitCm(message, out, 0)
      same(parseCm(out, 0, 256), message)
    }
    const cma = parseCma(b, at, end)
    if (isMalformed(cma)) known(cma)
    else same(parseCma(...written(36, (out) => emitCma(cma, out, 0))), cma)
  }
  vcrc(b, start, end)
}

function packetAt(b: Uint8Array, start: number, end: number, known: (reason: string | undefined) => void): void {
  const reason = checkPacket(b, start, end)
  known(reason)
  for (const flow of [flow4, flow6]) {
    const identification = flow.check(b, start, end)
    if (!(identification >= -1 && identification <= 0xffff)) expect(identification).toBe('an identification')
  }
  const packet = parsePacket(b, start, end)
  same(isMalformed(packet) ? packet : undefined, reason)
  if (isMalformed(packet)) return
  known(checkAll(b, start, end))
  if (packet.aeth) syndromeText(packet.aeth.syndrome)
  same(packetLength(packet), end - start)
  const out = new Uint8Array(packetLength(packet))
  emitPacket(packet, out, 0)
  same(parsePacket(out, 0, out.length), packet)
  // The same bytes among others are the same packet.
  const among = new Uint8Array(end - start + 64).fill(0xff)
  among.set(b.subarray(start, end), 32)
  same(checkAll(among, 32, 32 + end - start), checkAll(b, start, end))
  same(emittedOf(among, 32, 32 + end - start), out)
}

const flow4 = new IcrcFlow(Uint8Array.of(10, 77, 0, 2), Uint8Array.of(10, 77, 0, 3), 0xc000)
const flow6 = new IcrcFlow(new Uint8Array(16).fill(1), new Uint8Array(16).fill(2), 0xc000)

function emittedOf(b: Uint8Array, start: number, end: number): Uint8Array {
  const packet = parsePacket(b, start, end)
  if (isMalformed(packet)) throw new Error(packet)
  return written(packetLength(packet), (out) => emitPacket(packet, out, 0))[0]
}

function written(length: number, write: (out: Uint8Array) => unknown): [Uint8Array, number, number] {
  const out = new Uint8Array(length)
  write(out)
  return [out, 0, length]
}

/** vitest's comparison takes a hundred times as long; it is for saying what differs. */
function same(a: unknown, b: unknown): void {
  if (!isDeepStrictEqual(a, b)) expect(a).toEqual(b)
}

function mutate(frame: Uint8Array, random: (below: number) => number): Uint8Array {
  let b: Uint8Array = frame.slice()
  for (let edits = 1 + random(4); edits > 0; edits--) {
    // Headers matter most: half of all edits are in the first 100 bytes.
    const at = random(2) ? random(b.length) : random(Math.min(100, b.length))
    switch (random(7)) {
      case 0:
        b[at]! ^= 1 << random(8)
        break
      case 1:
        b[at] = [0, 1, 0x7f, 0x80, 0xff][random(5)]!
        break
      case 2:
        b[at] = random(256)
        break
      case 3:
        b = b.slice(0, random(4) ? Math.max(0, b.length - random(8)) : at)
        break
      case 4:
        b = joined(b, new Uint8Array(random(16)).fill(random(256)))
        break
      case 5: {
        // Bytes in the middle taken out or repeated.
        const length = random(20)
        b = random(2)
          ? joined(b.subarray(0, at), b.subarray(at + length))
          : joined(b.subarray(0, at + length), b.subarray(at))
        break
      }
      default:
        // The opcode, flags or lengths, at their places.
        b[[16, 17, 38, 39, 42, 42, 43][random(7)]!] = random(256)
    }
    if (b.length === 0) return b
  }
  return b
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
