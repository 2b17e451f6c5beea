/**
 * Small WebAssembly modules, encoded by hand: functions on the memory of a segment. The names of instructions are those of the
 * WebAssembly specification (core, section 5: binary format).
 */
import type { WasmMemory } from './native/index.ts'

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

const memories = new WeakMap<ArrayBuffer | SharedArrayBuffer, WasmMemory>()

/** Remembers which memory a buffer belongs to. */
export function rememberWasm(memory: WasmMemory): void {
  memories.set(memory.buffer, memory)
}

/** The WebAssembly memory that the buffer of a segment belongs to, if there is one. */
export function wasmOf(buffer: ArrayBuffer | SharedArrayBuffer): WasmMemory | undefined {
  return memories.get(buffer)
}

/** Limits of the memory that a module imports: its own bounds must be within these. */
export interface MemoryLimits {
  readonly shared: boolean
  readonly minPages: number
  readonly maxPages: number
}

/**
 * Returns the exports of the module that `encode` gives, on this memory. Throws a CompileError for instructions that V8 does not have here.
 */
export function instantiate(memory: WasmMemory, encode: (limits: MemoryLimits) => Uint8Array): unknown {
  const shared = !(memory.buffer instanceof ArrayBuffer)
  // These bounds enclose all.
  const module = new WebAssembly.Module(encode({ shared, minPages: 0, maxPages: 65_536 }))
  return new WebAssembly.Instance(module, { m: { m: memory } }).exports
}

/** A whole number, seven bits a byte, low ones first: LEB128. */
function unsigned(value: number): number[] {
  const low = value & 0x7f
  return value < 0x80 ? [low] : [low | 0x80, ...unsigned(value >>> 7)]
}

/** The same with a sign, for constants. */
function signed(value: number): number[] {
  if (value >= -64 && value < 64) return [value & 0x7f]
  return [(value & 0x7f) | 0x80, ...signed(value >> 7)]
}

function text(value: string): number[] {
  return [...unsigned(value.length), ...Buffer.from(value, 'latin1')]
}

function vector(items: readonly number[][]): number[] {
  return [...unsigned(items.length), ...items.flat()]
}

function sized(bytes: readonly number[]): number[] {
  return [...unsigned(bytes.length), ...bytes]
}

const section = { type: 1, import: 2, function: 3, export: 7, code: 10 }
export const i32Type = 0x7f
export const i64Type = 0x7e

export const get = (local: number): number[] => [0x20, local]
export const set = (local: number): number[] => [0x21, local]
export const i32Constant = (value: number): number[] => [0x41, ...signed(value)]

/** Instructions, of i32 unless the name gives another type. */
export const op = {
  add: [0x6a],
  sub: [0x6b],
  and: [0x71],
  or: [0x72],
  eqz: [0x45],
  ltUnsigned: [0x49],
  ifThen: [0x04, 0x40],
  loop: [0x03, 0x40],
  /** Branch to the beginning of the innermost loop, if the word on the stack is not 0. */
  again: [0x0d, 0x00],
  end: [0x0b],
  returnNow: [0x0f],
  memoryCopy: [0xfc, 0x0a, 0x00, 0x00],
} as const

/** An instruction on vectors of 128 bits. */
export const simd = (opcode: number): number[] => [0xfd, ...unsigned(opcode)]

export interface WasmFunction {
  /** Numbers of locals besides the parameters, with their types. */
  readonly locals: readonly (readonly [count: number, type: number])[]
  readonly code: readonly number[]
}

/** The bytes of a module that imports the memory `m.m` and exports functions that take these parameters and return nothing. */
export function encodeModule(
  { shared, minPages, maxPages }: MemoryLimits,
  parameters: readonly number[],
  functions: Readonly<Record<string, WasmFunction>>,
): Uint8Array {
  const limits = shared ? [3, ...unsigned(minPages), ...unsigned(maxPages)] : [0, ...unsigned(minPages)]
  const list = Object.entries(functions)
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0], // "\0asm", version 1
    ...[section.type, ...sized(vector([[0x60, ...vector(parameters.map((type) => [type])), 0]]))],
    ...[section.import, ...sized(vector([[...text('m'), ...text('m'), 2, ...limits]]))],
    ...[section.function, ...sized(vector(list.map(() => [0])))],
    ...[section.export, ...sized(vector(list.map(([name], i) => [...text(name), 0, ...unsigned(i)])))],
    ...[
      section.code,
      ...sized(
        vector(
          list.map(([, { locals, code }]) =>
            sized([...vector(locals.map(([count, type]) => [...unsigned(count), type])), ...code, ...op.end]),
          ),
        ),
      ),
    ],
  ])
}
