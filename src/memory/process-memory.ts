/**
 * The memory of the segment that all threads of a process share. It is made before a thread is started that may use it, which is
 * before any of them has loaded native code perhaps, so that nothing here does.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { segmentSetting, type WasmMemory } from './native/index.ts'
import { granuleBytes } from './pages.ts'
import { SegmentError } from './segment-errors.ts'
import { formatSegment, Header, segmentBytes } from './segment-layout.ts'

declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => WasmMemory
}

/** Bytes of pages below which no smaller size is tried. */
const leastHeapBytes = 8 << 20

/** Key of the segment in the environment data of `node:worker_threads`. */
const environmentKey = 'verbena.segment'

type ProcessMemory = WasmMemory | SharedArrayBuffer

interface Sizes {
  /** Bytes of the tables. */
  readonly staticBytes: number
  readonly sizeBytes: number
}

function inherited(): ProcessMemory | undefined {
  const memory = getEnvironmentData(environmentKey) as unknown as ProcessMemory | undefined
  return typeof memory === 'object' ? memory : undefined
}

const bufferOf = (memory: ProcessMemory): ArrayBuffer | SharedArrayBuffer =>
  memory instanceof SharedArrayBuffer ? memory : memory.buffer

/**
 * Makes the memory that all threads of this process share, unless a parent thread has: workers started from now on
 * inherit it. Throws `SegmentError` (ENOMEM).
 */
export function prepareProcessMemory(sizes: Sizes): ProcessMemory {
  const known = inherited()
  if (known !== undefined) return known
  const memory = newProcessMemory(sizes)
  const buffer = bufferOf(memory)
  formatSegment(new Int32Array(buffer), buffer.byteLength, sizes.staticBytes)
  setEnvironmentData(environmentKey, memory as unknown as SharedArrayBuffer)
  return memory
}

/** Returns true if a thread of this process has used it. */
export function isProcessMemoryUsed(): boolean {
  const memory = inherited()
  return memory !== undefined && new Int32Array(bufferOf(memory))[Header.attachmentsHigh]! > 0
}

function newProcessMemory({ staticBytes, sizeBytes }: Sizes): ProcessMemory {
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
