/**
 * Copying within a segment, the largest cost of a message in shared memory.
 *
 * V8 copies a SharedArrayBuffer with a loop of relaxed atomic words, four times slower than memmove, which is what
 * `memory.copy` of WebAssembly and copyWithin on other memory use. So in a shared WebAssembly memory a module of one
 * instruction copies. Measured on Node 20, nanoseconds for so many bytes (ordered copies in parentheses):
 *
 *                                      4          32          64        1,024       4,096         65,536
 *     WebAssembly memory, shared    8  (8)     7  (8)      7  (8)      13 (17)     40  (42)     640 (600)
 *     mapping, copyWithin          20         30          18           25          50           600
 *     mapping, copier here          3  (8)     9 (15)     15 (24)      21 (32)     45  (57)     600 (620)
 *     SharedArrayBuffer             3  (8)    10 (15)     18 (27)      51 (61)    181 (187)   2,310 (2,300)
 *
 * A named segment is mapped over a WebAssembly memory where that can be had (native/mapping.ts), and copied as the first kind.
 * Overlapping ranges behave as with memmove. The ranges must lie within the memory: the caller has checked them
 * (beyond its end WebAssembly throws a RuntimeError, copyWithin silently copies less). A mapping may be larger than
 * 4 GiB on Node 22, so word indexes come from divisions, not shifts.
 *
 * Ordered copies serve programs that poll memory for an RDMA WRITE: they watch the end of a message, a word or a byte,
 * and when it changes everything before it must be there. So the tail, the largest naturally aligned word that ends
 * the destination (8, 4, 2 or 1 bytes; without WebAssembly 8 bytes are two words of 4), is written last, by one store.
 * On x86 a plain store will do: its processors make stores visible in program order (TSO), and the one weakly ordered
 * part, a string instruction or non-temporal stores inside memmove, is followed by a store of its own or by a fence,
 * which is the case that the manuals provide for. V8 does not move a store across the call that copies. Elsewhere the
 * store is atomic, which releases all stores before it.
 */

import type { WasmMemory } from './native/index.ts'
import { processorOrders } from './processor.ts'
import {
  encodeModule,
  get,
  i32Constant,
  i32Type,
  i64Type,
  instantiate,
  type MemoryLimits,
  op,
  set,
} from './wasm-code.ts'

export type Copy = (dst: number, src: number, lengthBytes: number) => void

/** Copies within `u8`, by WebAssembly if `wasm` is the memory below it. */
export function makeCopier(u8: Uint8Array, wasm?: WasmMemory): Copy {
  if (wasm !== undefined) return instance(u8, wasm, processorOrders).copy
  const i32 = words(u8)
  return (dst, src, lengthBytes) => {
    if (lengthBytes <= 32 && ((dst | src | lengthBytes) & 3) === 0) copyWords(i32, dst / 4, src / 4, lengthBytes / 4)
    else u8.copyWithin(dst, src, src + lengthBytes)
  }
}

/** The same, and the tail becomes visible to other threads and processes after all the rest. */
export function makeOrderedCopier(
  u8: Uint8Array,
  wasm?: WasmMemory,
  storesAreOrdered: boolean = processorOrders,
): Copy {
  if (wasm !== undefined) return instance(u8, wasm, storesAreOrdered).copyOrdered
  const i32 = words(u8)
  const i16 = new Int16Array(u8.buffer, u8.byteOffset, Math.floor(u8.byteLength / 2))
  return (dst, src, lengthBytes) => {
    if (lengthBytes <= 0) return
    const end = dst + lengthBytes
    // The tail is read first: the copy of the rest may overwrite its source.
    if ((end & 3) === 0 && lengthBytes >= 4) {
      const high =
        u8[src + lengthBytes - 4]! |
        (u8[src + lengthBytes - 3]! << 8) |
        (u8[src + lengthBytes - 2]! << 16) |
        (u8[src + lengthBytes - 1]! << 24)
      let rest = lengthBytes - 4
      let low = 0
      const two = (end & 7) === 0 && rest >= 4
      if (two) {
        rest -= 4
        low = u8[src + rest]! | (u8[src + rest + 1]! << 8) | (u8[src + rest + 2]! << 16) | (u8[src + rest + 3]! << 24)
      }
      if (rest <= 32 && ((dst | src | rest) & 3) === 0) copyWords(i32, dst / 4, src / 4, rest / 4)
      else u8.copyWithin(dst, src, src + rest)
      const word = end / 4 - 1
      if (storesAreOrdered) {
        if (two) i32[word - 1] = low
        i32[word] = high
      } else {
        if (two) Atomics.store(i32, word - 1, low)
        Atomics.store(i32, word, high)
      }
    } else if ((end & 1) === 0 && lengthBytes >= 2) {
      const tail = u8[src + lengthBytes - 2]! | (u8[src + lengthBytes - 1]! << 8)
      if (lengthBytes > 2) u8.copyWithin(dst, src, src + lengthBytes - 2)
      if (storesAreOrdered) i16[end / 2 - 1] = tail
      else Atomics.store(i16, end / 2 - 1, tail)
    } else {
      const tail = u8[src + lengthBytes - 1]!
      if (lengthBytes > 1) u8.copyWithin(dst, src, src + lengthBytes - 1)
      if (storesAreOrdered) u8[end - 1] = tail
      else Atomics.store(u8, end - 1, tail)
    }
  }
}

function words(u8: Uint8Array): Int32Array {
  if ((u8.byteOffset & 7) !== 0)
    throw new RangeError(`the bytes must start at a multiple of 8 in their buffer, not at ${u8.byteOffset}`)
  return new Int32Array(u8.buffer, u8.byteOffset, Math.floor(u8.byteLength / 4))
}

function copyWords(i32: Int32Array, dst: number, src: number, count: number): void {
  if (dst <= src) for (let i = 0; i < count; i++) i32[dst + i] = i32[src + i]!
  else for (let i = count - 1; i >= 0; i--) i32[dst + i] = i32[src + i]!
}

interface CopyModule {
  readonly copy: Copy
  readonly copyOrdered: Copy
}

function instance(u8: Uint8Array, wasm: WasmMemory, storesAreOrdered: boolean): CopyModule {
  if (u8.buffer !== wasm.buffer || u8.byteOffset !== 0)
    throw new RangeError('the bytes must be a view of the whole WebAssembly memory')
  return instantiate(wasm, (limits) => copyModule({ ...limits, storesAreOrdered })) as CopyModule
}

// --- the module, encoded by hand --------------------------------------------------------------------------------------

/** Loads, stores and atomic stores by the size of the word; an atomic one has a prefix and must state its alignment. */
const access: Record<1 | 2 | 4 | 8, { load: number[]; store: number[]; atomicStore: number[] }> = {
  1: { load: [0x2d, 0, 0], store: [0x3a, 0, 0], atomicStore: [0xfe, 0x19, 0, 0] },
  2: { load: [0x2f, 0, 0], store: [0x3b, 0, 0], atomicStore: [0xfe, 0x1a, 1, 0] },
  4: { load: [0x28, 0, 0], store: [0x36, 0, 0], atomicStore: [0xfe, 0x17, 2, 0] },
  8: { load: [0x29, 0, 0], store: [0x37, 0, 0], atomicStore: [0xfe, 0x18, 3, 0] },
}

export interface CopyModuleOptions extends MemoryLimits {
  /** True if a plain store becomes visible after the stores before it. */
  readonly storesAreOrdered: boolean
}

/**
 * The bytes of a module that imports a memory and exports
 *
 *     copy(dst, src, length)           memory.copy
 *     copyOrdered(dst, src, length)    tail = load(src + length - n); memory.copy(dst, src, length - n);
 *                                      store(dst + length - n, tail)      n = 8, 4, 2 or 1
 */
export function copyModule(options: CopyModuleOptions): Uint8Array {
  const [dst, src, length, tail32, tail64] = [0, 1, 2, 3, 4]
  const copy = [...get(dst), ...get(src), ...get(length), ...op.memoryCopy]

  /** Instructions that move the last n bytes with one store: if the destination ends at a multiple of n, and n bytes are there. */
  const withTail = (n: 1 | 2 | 4 | 8): number[] => {
    const tail = n === 8 ? tail64 : tail32
    const rest = [...get(length), ...i32Constant(n), ...op.sub]
    const { load, store, atomicStore } = access[n]
    return [
      ...[...get(src), ...rest, ...op.add, ...load, ...set(tail)],
      ...[...rest, ...set(length)],
      ...[...get(length), ...op.ifThen, ...copy, ...op.end],
      ...[...get(dst), ...get(length), ...op.add, ...get(tail), ...(options.storesAreOrdered ? store : atomicStore)],
      ...op.returnNow,
    ]
  }
  const ifFits = (n: 2 | 4 | 8): number[] => [
    ...[...get(dst), ...get(length), ...op.add, ...i32Constant(n - 1), ...op.and],
    ...[...get(length), ...i32Constant(n), ...op.ltUnsigned, ...op.or, ...op.eqz],
    ...[...op.ifThen, ...withTail(n), ...op.end],
  ]
  const copyOrdered = [
    ...[...get(length), ...op.eqz, ...op.ifThen, ...op.returnNow, ...op.end],
    ...[...ifFits(8), ...ifFits(4), ...ifFits(2), ...withTail(1)],
  ]

  return encodeModule(options, [i32Type, i32Type, i32Type], {
    copy: { locals: [], code: copy },
    copyOrdered: {
      locals: [
        [1, i32Type],
        [1, i64Type],
      ],
      code: copyOrdered,
    },
  })
}
