/** Arguments of a call: their validation, and their location in memory that the device can reach. */
import type { ElementType, Operation } from './combine.ts'
import { operations } from './combine.ts'
import { CollectiveError } from './error.ts'
import { type AnyArray, type Memory, type Range, Staging } from './memory.ts'
import type { Collective } from './schedule/index.ts'

/** Arguments of a call; arrays that have no meaning at this rank are null. */
export interface Arguments {
  collective: Collective
  root: number
  input: AnyArray | null
  output: AnyArray | null
  operation: Operation | null
  /** Bytes as `Task.bytes` counts them. */
  bytes: number
  elementBytes: number
  /** Type of the elements; '' for bytes. */
  type: ElementType | ''
}

function typeOf(array: AnyArray): ElementType | '' {
  if (array instanceof Float64Array) return 'Float64'
  if (array instanceof Float32Array) return 'Float32'
  return array instanceof Int32Array ? 'Int32' : ''
}

/** Ranks whose array a collective reads or writes: none, the root, all. */
const nobody = 0
const theRoot = 1
const everybody = 2

const takesInput: Readonly<Record<Collective, number>> = {
  ...{ barrier: nobody, broadcast: nobody, scatter: theRoot, gather: everybody },
  ...{ allgather: everybody, reduce: everybody, allreduce: everybody, alltoall: everybody },
}
const givesOutput: Readonly<Record<Collective, number>> = {
  ...{ barrier: nobody, broadcast: everybody, scatter: everybody, gather: theRoot },
  ...{ allgather: everybody, reduce: theRoot, allreduce: everybody, alltoall: everybody },
}

function wrong({ collective }: Arguments, why: string): CollectiveError {
  return new CollectiveError('EINVAL', `${collective}: ${why}`)
}

/** Returns `array` if this rank has to supply it, otherwise null. */
function needed(args: Arguments, name: 'input' | 'output', who: number, atRoot: boolean): AnyArray | null {
  if (who === nobody || (who === theRoot && !atRoot)) return null
  const array = args[name]
  if (!ArrayBuffer.isView(array) || array instanceof DataView || array.length === undefined)
    throw wrong(args, `${name} must be a typed array`)
  return array
}

/** Sets the fields that follow from the arguments of a call. Throws a CollectiveError (EINVAL) that names the wrong argument. */
export function check(args: Arguments, rank: number, size: number): void {
  const { collective, root, operation } = args
  if (!Number.isInteger(root) || root < 0 || root >= size)
    throw wrong(args, `root must be a rank from 0 to ${size - 1}, not ${root}`)
  const input = needed(args, 'input', takesInput[collective], rank === root)
  const output = needed(args, 'output', givesOutput[collective], rank === root)
  args.input = input
  args.output = output
  const first = input ?? output
  args.type = first === null ? '' : typeOf(first)
  args.elementBytes = args.type === '' ? 1 : first!.BYTES_PER_ELEMENT
  if (operation !== null) {
    if (!operations.includes(operation))
      throw wrong(args, `the operation must be one of ${operations.join(', ')}, not ${JSON.stringify(operation)}`)
    if (args.type === '') throw wrong(args, 'arrays must be Int32Array, Float32Array or Float64Array')
    if (output !== null && typeOf(output) !== args.type) throw wrong(args, 'input and output must be of one type')
  }
  args.bytes = bytesOf(args, size)
  if (input !== null && output !== null && overlap(input, output) && !(operation !== null && isSame(input, output)))
    throw wrong(args, 'input and output overlap')
}

function overlap(a: AnyArray, b: AnyArray): boolean {
  const distance = a.byteOffset - b.byteOffset
  return a.buffer === b.buffer && distance < b.byteLength && -distance < a.byteLength
}

function isSame(a: AnyArray, b: AnyArray): boolean {
  return a.byteOffset === b.byteOffset && a.byteLength === b.byteLength
}

/** Returns the bytes as `Task.bytes` counts them. */
function bytesOf(args: Arguments, size: number): number {
  const input = args.input === null ? -1 : args.input.byteLength
  const output = args.output === null ? -1 : args.output.byteLength
  switch (args.collective) {
    case 'barrier':
      return 0
    case 'scatter':
      return fits(args, input, size * output, output)
    case 'gather':
    case 'allgather':
      return fits(args, output, size * input, input)
    case 'alltoall':
      if (args.input!.length % size !== 0)
        throw wrong(args, `input has ${args.input!.length} elements, which ${size} ranks cannot share`)
      return fits(args, output, input, input / size)
    default:
      return fits(args, output, input < 0 ? output : input, Math.max(input, output))
  }
}

/** Returns `result` if the other array of the call has the matching length, or has no meaning at this rank (-1). */
function fits(args: Arguments, other: number, wanted: number, result: number): number {
  if (other >= 0 && other !== wanted)
    throw wrong(args, `${args.collective === 'scatter' ? 'input' : 'output'} has ${other} bytes where ${wanted} belong`)
  return result
}

/** Locations of the arrays of calls in memory that the device can reach. */
export class Stage {
  readonly #memory: Memory
  readonly #staging: Staging
  /** True if the array is a copy. */
  copied = false

  constructor(memory: Memory) {
    this.#memory = memory
    this.#staging = new Staging(memory)
  }

  /** Points `range` to the array, or to memory of its length; `fill`: with its content. */
  place(range: Range, array: AnyArray, fill: boolean): void {
    this.copied = !this.#memory.find(array, range)
    if (!this.copied) return
    this.#staging.reserve(range, array.byteLength)
    if (fill) write(this.#memory, range.at, array)
  }
}

/** Elements up to which a loop is faster than a call. */
const few = 16

function write({ f64, f32, i32, u8 }: Memory, at: number, array: AnyArray): void {
  const { length } = array
  if (array instanceof Float64Array) {
    if (length > few) f64.set(array, at / 8)
    else for (let i = 0; i < length; i++) f64[at / 8 + i] = array[i]!
  } else if (array instanceof Float32Array) {
    if (length > few) f32.set(array, at / 4)
    else for (let i = 0; i < length; i++) f32[at / 4 + i] = array[i]!
  } else if (array instanceof Int32Array) {
    if (length > few) i32.set(array, at / 4)
    else for (let i = 0; i < length; i++) i32[at / 4 + i] = array[i]!
  } else u8.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at)
}

/** Copies the bytes from `at` on to an array. */
export function read({ f64, f32, i32, u8 }: Memory, at: number, array: AnyArray): void {
  const { length } = array
  if (array instanceof Float64Array) {
    if (length > few) array.set(f64.subarray(at / 8, at / 8 + length))
    else for (let i = 0; i < length; i++) array[i] = f64[at / 8 + i]!
  } else if (array instanceof Float32Array) {
    if (length > few) array.set(f32.subarray(at / 4, at / 4 + length))
    else for (let i = 0; i < length; i++) array[i] = f32[at / 4 + i]!
  } else if (array instanceof Int32Array) {
    if (length > few) array.set(i32.subarray(at / 4, at / 4 + length))
    else for (let i = 0; i < length; i++) array[i] = i32[at / 4 + i]!
  } else {
    const bytes = array.byteLength
    new Uint8Array(array.buffer, array.byteOffset, bytes).set(u8.subarray(at, at + bytes))
  }
}
