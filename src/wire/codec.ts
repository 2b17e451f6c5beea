/**
 * Codecs made from tables of fields: a header declares the positions of its fields once, and can then be read and written.
 * They allocate and are for tools, management and tests; the data path uses the offsets of headers.ts directly.
 */
import { get64Big, put32, put64Big, u32 } from './bytes.ts'
import { type MalformedReason, WireError } from './errors.ts'

/** One field; `at` is the offset of the header. `what` names the field in errors. */
export interface Field<V> {
  read(b: Uint8Array, at: number): V
  write(b: Uint8Array, at: number, value: V, what: string): void
}
export type Fields<T> = { readonly [K in keyof T]: Field<T[K]> }

/** Returns a number field of `width` bits that begins `bit` bits, counted from the most significant, after the start of byte `byte`. */
export function bits(byte: number, bit: number, width: number): Field<number> {
  // One to four bytes hold it; they are shifted to the top of a word.
  const size = Math.ceil((bit + width) / 8)
  const shift = 8 * size - bit - width
  const limit = 2 ** width
  return {
    read(b, at) {
      let v = 0
      for (let i = 0; i < size; i++) v = (v << 8) | b[at + byte + i]!
      return ((v >>> shift) & (limit - 1)) >>> 0
    },
    write(b, at, value, what) {
      if (!Number.isInteger(value) || value < 0 || value >= limit)
        throw new WireError('ERR_WIRE_VALUE', `${what}: ${value} is not a whole number from 0 to ${limit - 1}`)
      for (let i = 0; i < size; i++) b[at + byte + i]! |= (value << shift) >>> (8 * (size - 1 - i))
    },
  }
}

export const u8Field = (byte: number): Field<number> => bits(byte, 0, 8)
export const u16Field = (byte: number): Field<number> => bits(byte, 0, 16)
export const u24Field = (byte: number): Field<number> => bits(byte, 0, 24)

export function u32Field(byte: number): Field<number> {
  return {
    read: (b, at) => u32(b, at + byte),
    write(b, at, value, what) {
      if (!Number.isInteger(value) || value < 0 || value > 0xffffffff)
        throw new WireError('ERR_WIRE_VALUE', `${what}: ${value} is not a whole number from 0 to ${0xffffffff}`)
      put32(b, at + byte, value)
    },
  }
}

export function flag(byte: number, mask: number): Field<boolean> {
  return {
    read: (b, at) => (b[at + byte]! & mask) !== 0,
    write(b, at, value) {
      if (value) b[at + byte]! |= mask
    },
  }
}

/** Returns a field of 64 bits, unsigned. */
export function u64Field(byte: number): Field<bigint> {
  return {
    read: (b, at) => get64Big(b, at + byte),
    write(b, at, value, what) {
      if (value < 0n || value > 0xffffffffffffffffn)
        throw new WireError('ERR_WIRE_VALUE', `${what}: ${value} is not a whole number from 0 to 2^64 - 1`)
      put64Big(b, at + byte, value)
    },
  }
}

/** Returns a field of bytes, which is read as a view, not a copy. A shorter value may be written: zeros follow. */
export function bytesField(byte: number, length: number): Field<Uint8Array> {
  return {
    read: (b, at) => b.subarray(at + byte, at + byte + length),
    write(b, at, value, what) {
      if (value.length > length)
        throw new WireError('ERR_WIRE_VALUE', `${what}: ${value.length} bytes do not fit, at most ${length} do`)
      b.set(value, at + byte)
    },
  }
}

/** Returns the fields of a part of the header as one field, with offsets from the header's start like all others. */
export function group<T extends object>(fields: Fields<T>): Field<T> {
  return {
    read: (b, at) => readFields(fields, b, at),
    write: (b, at, value, what) => writeFields(fields, b, at, value, what),
  }
}

/** Function that returns the defect of the header at b[at], if any; all its bytes are present. */
export type HeaderRule = (b: Uint8Array, at: number) => MalformedReason | undefined

/** Header of fixed length. */
export class HeaderCodec<T extends object> {
  readonly name: string
  /** Length in bytes. */
  readonly length: number
  readonly fields: Fields<T>
  readonly #rule: HeaderRule | undefined
  readonly #first: number

  /** `rule` returns the defect of a header; `first` is the constant value of the first byte, such as a version. */
  constructor(name: string, length: number, fields: Fields<T>, rule?: HeaderRule, first = 0) {
    this.name = name
    this.length = length
    this.fields = fields
    this.#rule = rule
    this.#first = first
  }

  /** Returns the header at b[start] if it ends at or before `end` and satisfies its rule; otherwise the reason why not. */
  parse(b: Uint8Array, start: number, end: number): T | MalformedReason {
    if (end - start < this.length) return 'tooShort'
    return this.#rule?.(b, start) ?? this.read(b, start)
  }

  /** Returns all fields without a check of the rule; `length` bytes must be present. Byte fields are views. */
  read(b: Uint8Array, at: number): T {
    return readFields(this.fields, b, at)
  }

  /** Writes `length` bytes, reserved bits as zeros, and returns the offset after them. */
  emit(value: T, b: Uint8Array, at: number): number {
    const end = at + this.length
    if (end > b.length)
      throw new WireError('ERR_WIRE_SPACE', `${this.name}: ${this.length} bytes do not fit at ${at} of ${b.length}`)
    b.fill(0, at, end)
    b[at] = this.#first
    writeFields(this.fields, b, at, value, this.name)
    return end
  }
}

function readFields<T extends object>(fields: Fields<T>, b: Uint8Array, at: number): T {
  const value = {} as T
  for (const key in fields) value[key] = fields[key].read(b, at)
  return value
}

function writeFields<T extends object>(fields: Fields<T>, b: Uint8Array, at: number, value: T, what: string): void {
  for (const key in fields) fields[key].write(b, at, value[key], `${what}.${key}`)
}
