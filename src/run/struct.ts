/**
 * Structures of the kernel's ABI as data: each field has an offset and a kind. Little endian, but for those that are big endian by their
 * kind. Decoding gives an object of plain values; fields that are not given are encoded as zero.
 */

/** Kinds of fields and what they are in JavaScript. `u64` is an address or a length, `raw` any 64 bits, and some are blocks of bytes. */
interface Kinds {
  u8: number
  u16: number
  be16: number
  u32: number
  s32: number
  u64: number
  raw: bigint
  be32: number
  be64: bigint
  /** 16 bytes. */
  gid: Uint8Array
  in6: Uint8Array
  storage: Uint8Array
}

/** Lengths of kinds that are blocks of bytes: a GID, struct sockaddr_in6, and sockaddr_storage. */
const blocks: Readonly<Partial<Record<Kind, number>>> = { gid: 16, in6: 28, storage: 128 }

type Kind = keyof Kinds
type Field = readonly [offset: number, kind: Kind]
type Fields = Readonly<Record<string, Field>>

export interface Struct<F extends Fields = Fields> {
  readonly sizeBytes: number
  readonly fields: F
}

/** The values of a structure's fields by name. */
export type ValuesOf<S> = S extends Struct<infer F> ? { -readonly [K in keyof F]: Kinds[F[K][1]] } : never

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Decodes the fields of `bytes`, which has at least the structure's size. An address or length beyond 2^53 is Infinity: no
 * process has it, and every comparison with a bound finds it too large.
 */
export function decode<F extends Fields>(struct: Struct<F>, bytes: Uint8Array): ValuesOf<Struct<F>> {
  const view = viewOf(bytes)
  const values: Record<string, number | bigint | Uint8Array> = {}
  for (const [name, [offset, kind]] of Object.entries(struct.fields)) values[name] = read(view, bytes, offset, kind)
  return values as ValuesOf<Struct<F>>
}

function read(view: DataView, bytes: Uint8Array, offset: number, kind: Kind): number | bigint | Uint8Array {
  switch (kind) {
    case 'u8':
      return view.getUint8(offset)
    case 'u16':
      return view.getUint16(offset, true)
    case 'be16':
      return view.getUint16(offset)
    case 'u32':
      return view.getUint32(offset, true)
    case 's32':
      return view.getInt32(offset, true)
    case 'u64':
      return safe(view.getUint32(offset, true), view.getUint32(offset + 4, true))
    case 'raw':
      return view.getBigUint64(offset, true)
    case 'be32':
      return view.getUint32(offset)
    case 'be64':
      return view.getBigUint64(offset)
    case 'gid':
    case 'in6':
    case 'storage':
      return bytes.slice(offset, offset + blocks[kind]!)
  }
}

/** Two words as a number; Infinity if it would not be exact. */
export function safe(low: number, high: number): number {
  return high < 0x200000 ? high * 0x100000000 + low : Number.POSITIVE_INFINITY
}

export function encode<F extends Fields>(struct: Struct<F>, values: Partial<ValuesOf<Struct<F>>>): Uint8Array {
  const bytes = new Uint8Array(struct.sizeBytes)
  const view = viewOf(bytes)
  for (const [name, value] of Object.entries(values)) {
    const [offset, kind] = struct.fields[name]!
    write(view, bytes, offset, kind, value as number | bigint | Uint8Array)
  }
  return bytes
}

function write(
  view: DataView,
  bytes: Uint8Array,
  offset: number,
  kind: Kind,
  value: number | bigint | Uint8Array,
): void {
  switch (kind) {
    case 'u8':
      view.setUint8(offset, value as number)
      break
    case 'u16':
      view.setUint16(offset, value as number, true)
      break
    case 'be16':
      view.setUint16(offset, value as number)
      break
    case 'u32':
      view.setUint32(offset, value as number, true)
      break
    case 's32':
      view.setInt32(offset, value as number, true)
      break
    case 'u64':
      view.setBigUint64(offset, BigInt(value as number), true)
      break
    case 'raw':
      view.setBigUint64(offset, value as bigint, true)
      break
    case 'be32':
      view.setUint32(offset, value as number)
      break
    case 'be64':
      view.setBigUint64(offset, value as bigint)
      break
    case 'gid':
    case 'in6':
    case 'storage':
      bytes.set((value as Uint8Array).subarray(0, blocks[kind]), offset)
      break
  }
}
