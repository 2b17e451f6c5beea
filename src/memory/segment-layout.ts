/**
 * The layout of a segment: its header, its attachments, where its tables and its heap begin; and whether memory or a file has that layout.
 *
 *     0            header: magic, version, sizes, control lock
 *     4096         attachments: one record for each thread that uses the segment
 *     pageTable    one 32-bit entry for each 4 KiB page of the heap, and the table of granules after it (see pages.ts)
 *     staticStart  tables of fixed size that belong to the layer above
 *     heapStart    pages handed out by `allocate`
 */
import { granuleBytes, granulePages, Pages, type PagesLayout, pageBytes } from './pages.ts'

export const magic = 0x42525631 // "1VRB"
export const layoutVersion = 12

export const Header = {
  magic: 0,
  version: 1,
  pages: 2,
  staticStart: 3,
  staticBytes: 4,
  heapStart: 5,
  pageTable: 6,
  state: 7,
  granuleTable: 9,
  controlLock: 16,
  pagesLock: 32,
  attachmentsHigh: 48,
  /** Number of changes for which janitors have to be woken: see `Segment.wakeJanitors`. */
  janitors: 49,
  epoch: 64,
  /** 1 when operations of this segment may be entered without a barrier: see `entersFreely`. */
  freeEntry: 80,
  /** Words of pages.ts. */
  heap: 96,
} as const
export const headerState = { fresh: 0, ready: 1, retired: 2 }
export const maxAttachments = 1023
/** Owner of memory that is freed when a grace period is over (`Segment.retireMemory`); not an attachment. */
export const graveOwner = 1023
const attachmentBytes = 128
const attachmentRecords = 1024
const attachmentsStart: number = pageBytes
/** Words of an attachment record; the operation sequence has a cache line of its own. */
export const Attachment = {
  state: 0,
  pid: 1,
  tid: 2,
  generation: 3,
  startTime: 4 /* f64 */,
  /** Descriptor of the life pipe and 1, of a thread that cleans up after dead processes; −1 if it has no pipe; 0 for other threads. */
  janitor: 6,
  /** 1: the thread has come to a closed gate (native/loading.ts) and never goes on: it counts as dead. */
  stopped: 7,
  loopWakeup: 8,
  /** Descriptor and 1 by which threads and the kernel wake this one, in the segment of a process; else 0. See parking.ts. */
  eventFd: 12,
  /** PID namespace in which the IDs of the process are valid. */
  pidNamespace: 13,
  /** Way in which the thread waits: see parking.ts. */
  parked: 14,
  /** Sequence of its operation when a grace period began that has to wait for it; 0 if it does not. See `Segment.beginGrace`. */
  grace: 15,
  operation: 16,
  /** Word that only `Segment.fence` writes, and that is never read. */
  fence: 17,
  /**
   * Context of its poll requests: see native/poll-requests.ts. It is valid in its process only, and outlives a thread that was terminated:
   * no other process may take this record as long as that process lives.
   */
  pollContext: 18 /* f64 */,
  /** Inode of the life pipe. */
  lifeInode: 20 /* f64 */,
  /** Start time of the process: with `pid`, it identifies the process. */
  processStart: 22 /* f64 */,
  /** 1: of a thread that is a janitor and nothing else. */
  janitorThread: 24,
  /** Counter of the work that other threads have left to this thread, which they wake for it. */
  work: 25,
}
/**
 * One thread's use of an attachment: its number in the low bits, generation above; never negative. Locks hold it, and an
 * attachment's state while the thread lives, so that what is meant for one thread never meets the next one there.
 */
export const ownerBits = 10
export const ownerMask = 0x3ff
export const generationMask = 0x1fffff
/**
 * `taken`: a thread prepares it, or cleans up after another one; then the use of that thread is in the other bits. Any other
 * value is the use of the thread that is there.
 */
export const attachmentState: { readonly free: number; readonly taken: number } = { free: 0, taken: 1 << 31 }
export const isUse = (state: number): boolean => state > 0
const pageTableStart: number = attachmentsStart + attachmentRecords * attachmentBytes

/** First word of an attachment's record. */
export function attachmentWord(id: number): number {
  return (attachmentsStart + id * attachmentBytes) / 4
}

function pagesOf(sizeBytes: number): number {
  return Math.floor(sizeBytes / granuleBytes) * granulePages
}

/** First word of the table of granules. */
function granuleTableOf(sizeBytes: number): number {
  return pageTableStart / 4 + pagesOf(sizeBytes)
}

export function staticStartOf(sizeBytes: number): number {
  return roundUp((granuleTableOf(sizeBytes) + pagesOf(sizeBytes) / granulePages) * 4, granuleBytes)
}

function heapStartOf(sizeBytes: number, staticBytes: number): number {
  return staticStartOf(sizeBytes) + roundUp(staticBytes, granuleBytes)
}

export function pagesLayout(i32: Int32Array): PagesLayout {
  return {
    header: Header.heap,
    pageTable: i32[Header.pageTable]! / 4,
    granuleTable: i32[Header.granuleTable]!,
    first: i32[Header.heapStart]! / pageBytes,
    end: i32[Header.pages]!,
  }
}

/** The pages that hold these bytes: the first, and the one after the last. */
export function pagesFor(byteOffset: number, lengthBytes: number): [first: number, end: number] {
  return [Math.floor(byteOffset / pageBytes), Math.ceil((byteOffset + lengthBytes) / pageBytes)]
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit
}

/** Bytes of a segment with room for so many bytes of pages, at most 2 GiB: beyond, offsets do not fit in a word. */
export function segmentBytes(staticBytes: number, heapBytes: number): number {
  const heap = roundUp(heapBytes, granuleBytes)
  let bytes = heap
  // What comes before the pages grows a little with them.
  for (let needed = 0; bytes < 2 ** 31; bytes = needed) {
    needed = heapStartOf(bytes, staticBytes) + heap
    if (needed <= bytes) return bytes
  }
  return 2 ** 31
}

/** Makes a segment of zeros, which stays `fresh` until its creator is in it. */
export function formatSegment(i32: Int32Array, sizeBytes: number, staticBytes: number): void {
  i32[Header.version] = layoutVersion
  i32[Header.pages] = pagesOf(sizeBytes)
  i32[Header.pageTable] = pageTableStart
  i32[Header.granuleTable] = granuleTableOf(sizeBytes)
  i32[Header.staticStart] = staticStartOf(sizeBytes)
  i32[Header.staticBytes] = staticBytes
  i32[Header.heapStart] = heapStartOf(sizeBytes, staticBytes)
  Pages.format(i32, pagesLayout(i32))
  i32[Header.epoch] = 1
  i32[Header.magic] = magic
}

/** Null if it cannot be a segment, by its size. `buffer` may be only the beginning of it. */
export function wordsOf(buffer: ArrayBuffer, sizeBytes: number): Int32Array | null {
  return sizeBytes % pageBytes === 0 && sizeBytes > pageTableStart ? new Int32Array(buffer) : null
}

/** Bytes of a segment that identify its users: its header and its attachments. */
export const headBytes: number = pageTableStart

/** Returns true if the header is that of a segment of this version, with the size that it has. */
export function isOurs(i32: Int32Array, sizeBytes: number): boolean {
  return i32[Header.magic] === magic && i32[Header.version] === layoutVersion && wellFormed(i32, sizeBytes)
}

export function wellFormed(i32: Int32Array, sizeBytes: number): boolean {
  return (
    i32[Header.pages] === pagesOf(sizeBytes) &&
    i32[Header.staticStart] === staticStartOf(sizeBytes) &&
    i32[Header.heapStart] === heapStartOf(sizeBytes, i32[Header.staticBytes]!) &&
    i32[Header.heapStart]! < sizeBytes
  )
}
