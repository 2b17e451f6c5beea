/** Memory to which peers can write: users' allocations, copies of users' arrays that the device cannot reach, and slots. */
import { Access, type Context, type MemoryRegion, type ProtectionDomain } from '../index.ts'
import { type Copy, makeCopier, wasmOf } from '../memory/index.ts'
import { CollectiveError } from './error.ts'

/** Registered memory. */
export interface Region {
  readonly bytes: Uint8Array
  readonly mr: MemoryRegion
}

/** Range in a region, as work requests and typed arrays describe it. */
export interface Range {
  /** Bytes from the beginning of the buffer that contains all memory of the device. */
  at: number
  /** Device address. */
  addr: number
  lkey: number
  rkey: number
  bytes: number
}

/** Allocation of a user. */
interface Given extends Region {
  readonly array: AnyArray
}

export const emptyRange = (): Range => ({ at: 0, addr: 0, lkey: 0, rkey: 0, bytes: 0 })

/** Element types that collectives distinguish; other arrays are bytes to them. */
export type ElementArray = Int32Array | Float32Array | Float64Array
export type AnyArray = ElementArray | Uint8Array | Int8Array | Int16Array | Uint16Array | Uint32Array
type ArrayType<T> = { new (buffer: ArrayBufferLike, byteOffset: number, length: number): T; BYTES_PER_ELEMENT: number }

export class Memory {
  /** Views of all memory of the device. */
  readonly u8: Uint8Array
  readonly i32: Int32Array
  readonly f32: Float32Array
  readonly f64: Float64Array
  readonly copy: Copy
  readonly #context: Context
  readonly #pd: ProtectionDomain
  readonly #regions: Region[] = []
  /** Allocations of users. */
  readonly #given: Given[] = []

  constructor(context: Context, pd: ProtectionDomain) {
    this.#context = context
    this.#pd = pd
    const first = this.region(64)
    const { buffer } = first.bytes
    this.u8 = new Uint8Array(buffer)
    this.i32 = new Int32Array(buffer, 0, Math.floor(buffer.byteLength / 4))
    this.f32 = new Float32Array(buffer, 0, Math.floor(buffer.byteLength / 4))
    this.f64 = new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8))
    this.copy = makeCopier(this.u8, wasmOf(buffer))
  }

  /** Allocates zeros to which the peers can write. */
  region(bytes: number): Region {
    const memory = this.#context.alloc(Math.max(64, bytes))
    const region = {
      bytes: memory.fill(0),
      mr: this.#pd.regMr(memory, Access.LocalWrite | Access.RemoteWrite),
    }
    this.#regions.push(region)
    return region
  }

  free(region: Region): void {
    const i = this.#regions.findIndex(({ mr }) => mr === region.mr)
    if (i >= 0) this.#regions.splice(i, 1)
    region.mr.close()
    this.#context.free(region.bytes)
  }

  /** Allocates an array that collectives use without a copy. */
  array<T extends AnyArray>(Type: ArrayType<T>, length: number): T {
    if (!Number.isSafeInteger(length) || length < 0)
      throw new CollectiveError('EINVAL', `alloc: length must be a number of elements, not ${length}`)
    const region = this.region(length * Type.BYTES_PER_ELEMENT)
    const array = new Type(region.bytes.buffer, region.bytes.byteOffset, length)
    this.#given.push({ array, ...region })
    return array
  }

  /** Frees an array of `array`. A view of it is not accepted: the memory of a freed array may already be in use for another one. */
  freeArray(array: AnyArray): void {
    const i = this.#given.findIndex((given) => given.array === array)
    if (i < 0)
      throw new CollectiveError(
        'EINVAL',
        'free: the array is none that alloc of this communicator returned, or it was freed already',
      )
    const [given] = this.#given.splice(i, 1)
    this.free(given!)
  }

  /** Points `range` to the memory of an array. Returns false if the array is not allocated here. */
  find(array: AnyArray, range: Range): boolean {
    if (array.buffer !== this.u8.buffer) return false
    const { byteOffset, byteLength } = array
    for (const { bytes, mr } of this.#given) {
      const offset = byteOffset - bytes.byteOffset
      if (offset < 0 || offset + byteLength > bytes.length) continue
      point(range, { bytes, mr }, offset, byteLength)
      return true
    }
    return false
  }

  close(): void {
    for (const region of [...this.#regions]) this.free(region)
  }
}

export function point(range: Range, { bytes, mr }: Region, offset: number, length: number): void {
  range.at = bytes.byteOffset + offset
  range.addr = mr.addr + offset
  range.lkey = mr.lkey
  range.rkey = mr.rkey
  range.bytes = length
}

/** Region that grows to the requested size and keeps it. */
export class Staging {
  readonly #memory: Memory
  #region: Region | null = null

  constructor(memory: Memory) {
    this.#memory = memory
  }

  /** Points `range` to `bytes` bytes, whose content is undefined. */
  reserve(range: Range, bytes: number): void {
    if (this.#region === null || this.#region.bytes.length < bytes) {
      let size = 4096
      while (size < bytes) size *= 2
      const next = this.#memory.region(size)
      if (this.#region !== null) this.#memory.free(this.#region)
      this.#region = next
    }
    point(range, this.#region, 0, bytes)
  }
}
