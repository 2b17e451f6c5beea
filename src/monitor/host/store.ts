/**
 * Windows in a file, one after the other: each after its length (4 bytes, little-endian), as gzip of `encodeWindow`. A file that ends in
 * the middle of a window (its writer was killed, or the power failed) is whole up to there, and is truncated there when it is appended to.
 */
import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  decodeWindow,
  describeWindow,
  encodeWindow,
  MonitorError,
  mostWindowBytes,
  type Part,
  type Window,
  type WindowPlan,
} from '../index.ts'

/** Maximum length of a record: a packed window is not longer than the window. */
const mostRecord = mostWindowBytes()
const lengthBytes = 4

/**
 * Unpacks a window. Throws MonitorError for bytes that are not a window, and for a window that is larger than possible; of one agent with
 * the plan, if one is given.
 */
export function unpackWindow(packed: Uint8Array, plan?: WindowPlan): Uint8Array {
  try {
    return gunzipSync(packed, { maxOutputLength: mostWindowBytes(plan) })
  } catch (error) {
    throw new MonitorError('ERR_MONITOR_BYTES', `not a window: ${(error as Error).message}`)
  }
}

export function packWindow(window: Window): Uint8Array {
  return gzipSync(encodeWindow(window), { level: 1 })
}

export class WindowStore {
  readonly path: string
  readonly #fd: number
  #end = 0

  /** Opens the file, or creates it; `onPart` receives the parts of the windows in it. Throws the error of the system. */
  constructor(path: string, onPart: (part: Part) => void = () => {}) {
    this.path = path
    this.#fd = openSync(path, 'a+')
    try {
      for (const { bytes, end } of records(this.#fd)) {
        for (const part of describeWindow(bytes).parts) onPart(part)
        this.#end = end
      }
      ftruncateSync(this.#fd, this.#end)
    } catch (error) {
      closeSync(this.#fd)
      throw error
    }
  }

  /** Appends a window, which is on the disk when this returns. Throws the error of the system; then the file is as it was. */
  add(packed: Uint8Array): void {
    const record = new Uint8Array(lengthBytes + packed.length)
    new DataView(record.buffer).setUint32(0, packed.length, true)
    record.set(packed, lengthBytes)
    try {
      // A disk that fills up takes a part of a write, and returns the error only for the rest.
      for (let at = 0; at < record.length; ) at += writeSync(this.#fd, record, at)
      fdatasyncSync(this.#fd)
    } catch (error) {
      ftruncateSync(this.#fd, this.#end)
      throw error
    }
    this.#end += record.length
  }

  close(): void {
    closeSync(this.#fd)
  }
}

/** Yields the windows of a file, in their order in it. Throws the error of the system, or MonitorError. */
export function* savedWindows(path: string): Generator<Window> {
  const fd = openSync(path, 'r')
  try {
    let any = false
    for (const { bytes } of records(fd)) {
      any = true
      yield decodeWindow(bytes)
    }
    if (!any && fstatSync(fd).size > 0) throw new MonitorError('ERR_MONITOR_BYTES', `${path} has no windows`)
  } finally {
    closeSync(fd)
  }
}

/** Yields the complete windows, and the offset where each ends. */
function* records(fd: number): Generator<{ bytes: Uint8Array; end: number }> {
  const { size } = fstatSync(fd)
  const head = new Uint8Array(lengthBytes)
  for (let at = 0; at + lengthBytes < size; ) {
    readSync(fd, head, 0, lengthBytes, at)
    const length = new DataView(head.buffer).getUint32(0, true)
    // After a power failure, a file system may leave space that was never written.
    if (length === 0 && isZero(fd, at, size)) return
    if (length === 0 || length > mostRecord || (at === 0 && !mayBePacked(fd, lengthBytes)))
      throw new MonitorError('ERR_MONITOR_BYTES', `offset ${at} of the file has no window`)
    const end = at + lengthBytes + length
    if (end > size) return
    const packed = new Uint8Array(length)
    readSync(fd, packed, 0, length, at + lengthBytes)
    let bytes: Uint8Array
    try {
      bytes = unpackWindow(packed)
    } catch (error) {
      // Or space of the right length that was not written completely.
      if (end === size) return
      throw error
    }
    at = end
    yield { bytes, end }
  }
}

/** True if the file has the beginning of gzip, as far as it goes, or space that was never written: any other file is left as it is. */
function mayBePacked(fd: number, at: number): boolean {
  const head = new Uint8Array(2)
  readSync(fd, head, 0, 2, at)
  const [first, second] = head
  return (first === 0x1f && (second === 0x8b || second === 0)) || (first === 0 && second === 0)
}

function isZero(fd: number, from: number, to: number): boolean {
  const block = new Uint8Array(65_536)
  for (let at = from; at < to; ) {
    const length = readSync(fd, block, 0, Math.min(block.length, to - at), at)
    if (length === 0 || block.subarray(0, length).some((byte) => byte !== 0)) return false
    at += length
  }
  return true
}
