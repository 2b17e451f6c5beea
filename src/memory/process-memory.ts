/** The memory of the segment that all threads of a process share, and what gives pages of a segment to the system and back. */
import {
  addressOf,
  commitShared,
  nativeAvailable,
  releaseShared,
  releaseWasm,
  segmentSetting,
  type WasmMemory,
} from './native/index.ts'
import { type Backing, granuleBytes } from './pages.ts'
import { SegmentError } from './segment-errors.ts'
import { segmentBytes } from './segment-layout.ts'

declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => WasmMemory
}

/** Below so many bytes of pages there is no use in trying less. */
const leastHeapBytes = 8 << 20

export function newProcessMemory({
  staticBytes,
  sizeBytes,
}: {
  staticBytes: number
  sizeBytes: number
}): WasmMemory | SharedArrayBuffer {
  const least = Math.min(sizeBytes, segmentBytes(staticBytes, leastHeapBytes))
  const make = [
    (bytes: number) => {
      const pages = Math.floor(bytes / 65536)
      return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    },
    (bytes: number) => new SharedArrayBuffer(bytes),
  ]
  for (const attempt of make)
    for (let bytes = sizeBytes; ; bytes = Math.max(Math.floor(bytes / 2 / granuleBytes) * granuleBytes, least)) {
      try {
        return attempt(bytes)
      } catch {
        // Address space is limited here (ulimit -v, a small container): try less.
      }
      if (bytes === least) break
    }
  throw new SegmentError(
    'ENOMEM',
    `there is no address space of ${Math.ceil(least / 2 ** 20)} to ${Math.ceil(sizeBytes / 2 ** 20)} MiB for what adapters ` +
      `share: raise \`ulimit -v\`, or set VERBENA_SHM_MIB to less (${segmentSetting()})`,
  )
}

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
