/** WebAssembly memories whose pages become those of a mapping. */
import { readFileSync } from 'node:fs'

/** Part of WebAssembly.Memory that is used: neither es2023 nor @types/node 20 declare WebAssembly, only the DOM does. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer
}

declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
}

const wasmPageBytes = 65_536

let isScarce: boolean | undefined

/**
 * A WebAssembly memory of just so many bytes; null where V8 has none, or where address space is limited (`ulimit -v`): V8 reserves about
 * 10 GiB for each, and where that just fits, the next worker thread ends the process for want of the rest.
 */
export function newWasmMemory(lengthBytes: number): { readonly buffer: ArrayBuffer } | null {
  const pages = lengthBytes / wasmPageBytes
  if (!Number.isInteger(pages) || typeof WebAssembly === 'undefined') return null
  isScarce ??= limitsAddressSpace(ownLimits())
  if (isScarce) return null
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages })
  } catch {
    return null
  }
}

/** Returns true if `/proc/PID/limits` (proc(5)) lists a soft limit of the address space, RLIMIT_AS. */
export function limitsAddressSpace(limits: string): boolean {
  return /^Max address space +\d/m.test(limits)
}

/** Empty where /proc is not mounted. */
function ownLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return ''
  }
}
