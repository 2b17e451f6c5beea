/**
 * How values travel between the test and the process with the other end. Plain data goes by value; memory of the segment, which both have
 * mapped, by its place; objects of the verbs stay where they are and travel as numbers.
 */
import { deserialize, serialize } from 'node:v8'
import {
  RecvWorkRequest,
  ScatterGather,
  SendWorkRequest,
  VerbsError,
  WorkCompletion,
  workCompletions,
} from '../../../src/index.ts'

/** What a request asks of an object of the other process. */
export type Request =
  | { readonly op: 'open'; readonly args: readonly unknown[] }
  | { readonly op: 'get'; readonly id: number; readonly name: string }
  | { readonly op: 'set'; readonly id: number; readonly name: string; readonly value: unknown }
  | { readonly op: 'call'; readonly id: number; readonly name: string; readonly args: readonly unknown[] }
  /** `cq.poll` with room for `count` completions. */
  | { readonly op: 'poll'; readonly id: number; readonly count: number; readonly max: number | undefined }
  /** `registerService` and `unregisterService` with a queue pair of that process. */
  | { readonly op: 'service'; readonly name: 'register' | 'unregister'; readonly args: readonly unknown[] }
  /** Whether a promise is settled; throws if it is rejected. */
  | { readonly op: 'settled'; readonly id: number }

export type Answer = { readonly value: unknown } | { readonly error: Thrown }

/** Keys of requests that are symbols have these names. */
export const symbols: Readonly<Record<string, symbol>> = {
  '@@dispose': Symbol.dispose,
  '@@asyncIterator': Symbol.asyncIterator,
}

/** Marks what does not go by value; no object of a program has such a key. */
const mark = '\0'
export type Marked =
  | { readonly [mark]: 'bytes'; readonly at: number; readonly length: number; readonly bits: 8 | 32 }
  | Named
  | { readonly [mark]: 'completion'; readonly fields: object }

const valueClasses = [SendWorkRequest, RecvWorkRequest, ScatterGather, WorkCompletion]

/** Whether an object goes by value: plain data, a work request, a completion. */
export function isValue(object: object): boolean {
  const prototype = Object.getPrototypeOf(object)
  return prototype === null || prototype === Object.prototype || valueClasses.some((one) => object instanceof one)
}

/** An object of one process, by its number; a method, which has none. */
export interface Named {
  readonly [mark]: 'object' | 'promise' | 'method'
  readonly id: number
  readonly className: string
}

export interface Codec {
  /** The memory that both processes have mapped; undefined before it is. */
  readonly memory: () => ArrayBufferLike | undefined
  /** The mark of an object that stays in this process, or that is one of the other process; undefined: it goes by value. */
  readonly nameOf: (value: object) => Marked | undefined
  /** What a mark stands for. */
  readonly named: (named: Named) => unknown
}

export function encode(codec: Codec, value: unknown): unknown {
  if (typeof value === 'function') return codec.nameOf(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array || value instanceof Int32Array) {
    const { byteOffset: at, length, buffer } = value
    if (buffer === codec.memory()) return { [mark]: 'bytes', at, length, bits: value.BYTES_PER_ELEMENT * 8 }
    return value.slice()
  }
  if (Array.isArray(value)) return value.map((element) => encode(codec, element))
  const named = codec.nameOf(value)
  if (named !== undefined) return named
  if (value instanceof WorkCompletion) return { [mark]: 'completion', fields: { ...value } }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, encode(codec, field)]))
}

export function decode(codec: Codec, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  if (Array.isArray(value)) return value.map((element) => decode(codec, element))
  if (!(mark in value))
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, decode(codec, field)]))
  const marked = value as Marked
  if ('at' in marked) {
    const { bits, at, length } = marked
    return bits === 8 ? new Uint8Array(codec.memory()!, at, length) : new Int32Array(codec.memory()!, at, length)
  }
  if ('fields' in marked) return Object.assign(workCompletions(1)[0]!, marked.fields)
  return codec.named(marked)
}

export const marked = (kind: Named[typeof mark], id: number, className = ''): Named => ({
  [mark]: kind,
  id,
  className,
})

export const kindOf = (value: Named): Named[typeof mark] => value[mark]

// --- errors ----------------------------------------------------------------------------------------------------------

interface Thrown {
  readonly name: string
  readonly message: string
  readonly stack: string
  readonly fields: Readonly<Record<string, unknown>>
}

export function thrown(codec: Codec, error: unknown): Thrown {
  const { name, message, stack } = error as Error
  return { name, message, stack: stack ?? '', fields: encode(codec, { ...(error as Error) }) as Thrown['fields'] }
}

/** The same error, as if it had been thrown here. */
export function rethrow(codec: Codec, { name, message, stack, fields }: Thrown): never {
  const { code, verb } = fields as { code: VerbsError['code']; verb: string }
  const error = name === 'VerbsError' ? new VerbsError(code, verb, '') : new Error(message)
  Object.assign(error, decode(codec, fields), { message })
  error.stack = `${error.stack}\n    --- in the other process ---\n${stack}`
  throw error
}

// --- frames: the length of what follows, u32, and a value as V8 writes it ---------------------------------------------

export function frame(value: unknown): Uint8Array {
  const bytes = serialize(value)
  const all = Buffer.allocUnsafe(4 + bytes.length)
  all.writeUInt32LE(bytes.length)
  all.set(bytes, 4)
  return all
}

/** Gathers bytes and gives a value as soon as there is a whole one. */
export class Frames {
  #bytes: Buffer = Buffer.alloc(0)

  add(bytes: Uint8Array): void {
    this.#bytes = this.#bytes.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#bytes, bytes])
  }

  /** The next value, in an array; null if it is not whole yet. */
  next<T>(): [T] | null {
    if (this.#bytes.length < 4) return null
    const end = 4 + this.#bytes.readUInt32LE()
    if (this.#bytes.length < end) return null
    const value = deserialize(this.#bytes.subarray(4, end)) as T
    this.#bytes = this.#bytes.subarray(end)
    return [value]
  }
}
