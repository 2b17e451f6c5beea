/**
 * Bytes of a sketch, little-endian:
 *
 *     0   'VSKT'
 *     4   version (2: the hash is another than in 1; 3: signed counters have a flag, and counts of CocoSketch a width;
 *         4: CocoSketch records what it may have attributed to other keys)
 *     5   length of the kind's name, and the name in ASCII
 *     …   number of dimensions (1 byte), and each as a float64, in the order of the kind
 *     …   seed, 16 bytes
 *     …   the block (block.ts), to the last four bytes
 *     -4  CRC-32 (IEEE 802.3) of all before
 *
 * The checksum detects every error burst of up to 32 bits, and all but one in 2^32 of other errors. An attacker who forges bytes also sets
 * a correct checksum: so every kind also checks that its dimensions and its state are possible, before it answers from them.
 */
import { SketchError } from './error.ts'
import { seedBytes } from './seed.ts'

const magic = [0x56, 0x53, 0x4b, 0x54]
const version = 4
const littleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1

const table: Int32Array = new Int32Array(256).map((_, index) => {
  let crc = index
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

function crc32(bytes: Uint8Array, end: number): number {
  let crc = -1
  for (let i = 0; i < end; i++) crc = (crc >>> 8) ^ table[(crc ^ bytes[i]!) & 0xff]!
  return ~crc >>> 0
}

export interface Decoded {
  kind: string
  dimensions: number[]
  seed: Uint8Array
  block: ArrayBuffer
}

const wrong = (what: string): SketchError => new SketchError('ERR_SKETCH_BYTES', `not a sketch: ${what}`)

function assertLittleEndian(): void {
  if (!littleEndian) throw new SketchError('ERR_SKETCH_UNSUPPORTED', 'bytes of sketches need a little-endian machine')
}

export function encode(
  kind: string,
  config: Readonly<Record<string, number>>,
  seed: Uint8Array,
  block: ArrayBuffer,
): Uint8Array {
  assertLittleEndian()
  const dimensions = Object.values(config)
  const head = 6 + kind.length + 1 + 8 * dimensions.length
  const bytes = new Uint8Array(head + seedBytes + block.byteLength + 4)
  const view = new DataView(bytes.buffer)
  bytes.set(magic)
  bytes[4] = version
  bytes[5] = kind.length
  for (let i = 0; i < kind.length; i++) bytes[6 + i] = kind.charCodeAt(i)
  bytes[6 + kind.length] = dimensions.length
  for (const [i, value] of dimensions.entries()) view.setFloat64(7 + kind.length + 8 * i, value, true)
  bytes.set(seed, head)
  bytes.set(new Uint8Array(block), head + seedBytes)
  view.setUint32(bytes.length - 4, crc32(bytes, bytes.length - 4), true)
  return bytes
}

/** Decodes the frame. Throws ERR_SKETCH_BYTES if it is invalid. The kind checks the content. */
export function decode(given: Uint8Array): Decoded {
  assertLittleEndian()
  // `slice` of a Buffer of Node.js copies nothing.
  const bytes = new Uint8Array(given.buffer, given.byteOffset, given.length)
  if (bytes.length < 6 || magic.some((byte, i) => bytes[i] !== byte)) throw wrong('it does not begin with VSKT')
  if (bytes[4] !== version) throw wrong(`version ${bytes[4]}, this library reads version ${version}`)
  const nameEnd = 6 + bytes[5]!
  const head = nameEnd + 1 + 8 * (bytes[nameEnd] ?? 0)
  if (bytes.length < head + seedBytes + 4) throw wrong('it ends too soon')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getUint32(bytes.length - 4, true) !== crc32(bytes, bytes.length - 4)) throw wrong('the checksum is wrong')
  const dimensions: number[] = []
  for (let at = nameEnd + 1; at < head; at += 8) dimensions.push(view.getFloat64(at, true))
  return {
    kind: String.fromCharCode(...bytes.subarray(6, nameEnd)),
    dimensions,
    seed: bytes.slice(head, head + seedBytes),
    block: bytes.slice(head + seedBytes, bytes.length - 4).buffer as ArrayBuffer,
  }
}
