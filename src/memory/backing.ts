/** Commits pages of a segment to memory, and releases them to the system. */
import {
  addressOf,
  commitShared,
  nativeAvailable,
  releaseShared,
  releaseWasm,
  type WasmMemory,
} from './native/index.ts'
import type { Backing } from './pages.ts'

export function processBacking(u8: Uint8Array, wasm: WasmMemory | undefined): Backing {
  const memory = wasm === undefined || !nativeAvailable ? null : wasm.buffer
  let address = 0
  return {
    commit() {},
    release(byteOffset, lengthBytes) {
      if (memory === null) return false
      if (address === 0) address = addressOf(memory)
      return releaseWasm(address, u8, byteOffset, lengthBytes)
    },
  }
}

export function sharedBacking(buffer: ArrayBuffer): Backing {
  return {
    commit(byteOffset, lengthBytes) {
      commitShared(buffer, byteOffset, lengthBytes)
    },
    release(byteOffset, lengthBytes) {
      return releaseShared(buffer, byteOffset, lengthBytes)
    },
  }
}
