/**
 * Samples in shared memory: a block of records of one size, so that threads pass indices, and nothing is copied or allocated for a sample.
 *
 *     byte 0    number of values (u32)
 *          4    flags (u32, SampleFlag)
 *          16   received: seconds, nanoseconds (2 × i64)
 *          32   sequence number (u64)
 *          40   origin: seconds, nanoseconds (2 × i64)
 *          56   values, 8 bytes each: f64, i64, boolean (u32), or complex (2 × f32)
 *
 * A record begins on a cache line. From the sequence number on, it is the message of VILLASnode's InfiniBand node. 64-bit integers are
 * stored as in C on a little-endian machine, and are read and written as two words: a bigint for each is too slow.
 */

export const SampleFlag = {
  tsOrigin: 1,
  tsReceived: 2,
  offset: 4,
  sequence: 8,
  data: 16,
  newFrame: 0x10000,
  newSimulation: 0x20000,
} as const

/** Offsets of the fields of a record, in 32-bit words from its beginning (`Samples.word`). */
export const SampleField = { length: 0, flags: 1, received: 4, sequence: 8, origin: 10, data: 14 } as const

const lineBytes = 64
const two32 = 2 ** 32

export class Samples {
  /** Values that a sample has room for. */
  readonly values: number
  /** Samples that there is room for. */
  readonly capacity: number
  /** Number of samples that are filled, from index 0 on. */
  count: number = 0
  /** Memory of the records. */
  readonly memory: Uint8Array
  readonly u32: Uint32Array
  readonly i32: Int32Array
  readonly f32: Float32Array
  readonly f64: Float64Array
  readonly #stride: number
  readonly #offset = new Float64Array(1)

  /**
   * Makes samples. `memory`: of the records, `bytesOf(capacity, values)` bytes that begin on a cache line; memory that another thread has
   * used with the same numbers is shared. Without it they get memory of their own.
   */
  constructor(capacity: number, values: number, memory?: Uint8Array) {
    this.capacity = capacity
    this.values = values
    this.#stride = Samples.bytesOf(1, values) / 4
    const words = this.#stride * capacity
    this.memory = memory ?? new Uint8Array(new SharedArrayBuffer(words * 4))
    const { buffer, byteOffset } = this.memory
    this.u32 = new Uint32Array(buffer, byteOffset, words)
    this.i32 = new Int32Array(buffer, byteOffset, words)
    this.f32 = new Float32Array(buffer, byteOffset, words)
    this.f64 = new Float64Array(buffer, byteOffset, words / 2)
  }

  /** Returns the bytes of the records of `capacity` samples with room for `values` values each. */
  static bytesOf(capacity: number, values: number): number {
    return Math.ceil((SampleField.data * 4 + values * 8) / lineBytes) * lineBytes * capacity
  }

  /** Returns the first 32-bit word of a sample. */
  word(index: number): number {
    return index * this.#stride
  }

  /** Makes a sample without values, times, sequence and flags. */
  clear(word: number): void {
    const { i32 } = this
    i32[word + SampleField.length] = 0
    i32[word + SampleField.flags] = 0
    for (let i = word + SampleField.received; i < word + SampleField.data; i++) i32[i] = 0
  }

  /** Returns the signed 64-bit integer at a word; rounded if it is beyond 2^53. */
  int64(word: number): number {
    return this.i32[word + 1]! * two32 + this.u32[word]!
  }

  /** Writes an integer, exact up to 2^53. */
  setInt64(word: number, value: number): void {
    if (value >= 0 && value <= 0x7fffffff) {
      this.i32[word] = value
      this.i32[word + 1] = 0
      return
    }
    const high = Math.floor(value / two32)
    this.u32[word] = value - high * two32
    this.i32[word + 1] = high
  }

  /** Sets a time to another plus seconds, down to whole nanoseconds towards zero, as VILLASnode adds an offset. */
  setReceived(word: number, seconds: number): void {
    const whole = Math.trunc(seconds)
    let sec = this.int64(word + SampleField.origin) + whole
    let nsec = this.int64(word + SampleField.origin + 2) + Math.trunc(1e9 * (seconds - whole))
    if (nsec >= 1e9) {
      sec += 1
      nsec -= 1e9
    } else if (nsec < 0) {
      sec -= 1
      nsec += 1e9
    }
    this.setInt64(word + SampleField.received, sec)
    this.setInt64(word + SampleField.received + 2, nsec)
  }

  /** Returns the seconds from origin to received, in an array of one that the next call overwrites. */
  offset(word: number): Float64Array {
    const { received, origin } = SampleField
    let sec = this.int64(word + received) - this.int64(word + origin)
    let nsec = this.int64(word + received + 2) - this.int64(word + origin + 2)
    if (nsec < 0) {
      sec -= 1
      nsec += 1e9
    }
    this.#offset[0] = sec + nsec * 1e-9
    return this.#offset
  }
}
