/**
 * A segment is one address space that several threads or processes share: the memory in which queues, tables and
 * message buffers live. An address on the data path is a byte offset into it.
 *
 *     0            header: magic, version, sizes, control lock
 *     4096         attachments: one record for each thread that uses the segment
 *     pageTable    one 32-bit entry for each 4 KiB page of the heap, and the table of granules behind it (see pages.ts)
 *     staticStart  tables of fixed size that belong to the layer above
 *     heapStart    pages handed out by `allocate`
 *
 * Of a named segment only what is in use takes memory: it is a sparse file whose pages are asked for before they are touched
 * (`commit`, `allocate`). Where /dev/shm has no more, that is an error with code ENOMEM and never a signal.
 *
 * Within one process it is a shared WebAssembly memory, because `memory.copy` is four times faster than copying on a
 * SharedArrayBuffer in V8 (see copy.ts), and threads wait with `Atomics.wait`. Between processes it is a mapping of
 * POSIX shared memory, and threads wait on futexes.
 *
 * Locks are words that hold the attachment number and generation of their owner, so that a waiter can see that the owner died and
 * take the lock over. Whatever a lock protects is written in an order that leaves it usable at every step.
 */
import { randomBytes } from 'node:crypto'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { Bell, Bells } from './bells.ts'
import { makeCopier, makeOrderedCopier, type WasmMemory } from './copy.ts'
import {
  addressOf,
  commitShared,
  futexWait,
  futexWaitAsync,
  futexWake,
  inodeOf,
  isUnused,
  makeEventFd,
  mapShared,
  markUsed,
  membarrier,
  NativeError,
  nativeAvailable,
  nativeReason,
  registerMembarrier,
  releaseShared,
  releaseWasm,
  type SharedMapping,
  segmentSetting,
  stopForGood,
  unlinkShared,
  unmap,
  whenStopped,
} from './native/index.ts'
import { type Backing, granuleBytes, granulePages, Pages, type PagesLayout, pageBytes } from './pages.ts'
import { osThreadId, pidNamespace, threadAlive, threadStartTime } from './threads.ts'

export { pageBytes } from './pages.ts'

declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => WasmMemory
}

const magic = 0x42525631 // "1VRB"
const layoutVersion = 4

const H = {
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
  epoch: 64,
  /** 1 when operations of this segment may be entered without a barrier: see `entersFreely`. */
  freeEntry: 80,
  /** What pages.ts keeps. */
  heap: 96,
} as const
const headerState = { fresh: 0, ready: 1, retired: 2 }
/** Nobody who lives takes so long to make a segment, or to take its name away. */
const transientMs = 2000

export const maxAttachments = 1024
const attachmentBytes = 128
const attachmentsStart = pageBytes
/** Words of an attachment record; the operation sequence has a cache line of its own. */
const A = {
  state: 0,
  pid: 1,
  tid: 2,
  generation: 3,
  startTime: 4 /* f64 */,
  janitor: 6,
  /** 1: the thread has come to a closed gate (native/loading.ts) and never goes on: it counts as dead. */
  stopped: 7,
  bell: 8,
  eventFd: 12,
  /** Of the process: where its numbers count. */
  pidNamespace: 13,
  operation: 16,
}
/**
 * One thread's use of an attachment: its number in the low bits, generation above; never negative. Locks hold it, and an
 * attachment's state while the thread lives, so that what is meant for one thread never meets the next one there.
 */
const ownerBits = 10
const ownerMask = 0x3ff
const generationMask = 0x1fffff
/**
 * `taken`: somebody prepares it, or cleans up after a thread; then the use of whoever does stands in the other bits. Any
 * other value is the use of the thread that is there.
 */
const attachmentState = { free: 0, taken: 1 << 31 }
const isUse = (state: number): boolean => state > 0
const pageTableStart = attachmentsStart + maxAttachments * attachmentBytes

export class SegmentError extends Error {
  override readonly name = 'SegmentError'
  readonly code: 'ENOMEM' | 'ENXIO' | 'ETIMEDOUT' | 'EOPNOTSUPP'
  constructor(code: SegmentError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * x86 keeps stores in order, and loads in order (TSO): there a plain store releases a lock or publishes an entry, and a
 * plain load sees what was written before what it reads. Elsewhere these must be atomic.
 */
export const processorOrders: boolean = process.arch === 'x64' || process.arch === 'ia32'

const sleeper = new Int32Array(new SharedArrayBuffer(4))
/** Blocks this thread; for back-off only. */
function sleepMs(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms)
}

export interface SegmentOptions {
  /** Bytes of the tables above. */
  staticBytes: number
  /** Size of a new segment, bytes; it costs memory only where it is used. */
  sizeBytes: number
  /**
   * Ranges of the tables, byte offset and length, that have memory from the beginning: those that are used in no order. The
   * others get it by `commit`. Without this: all of them.
   */
  committed?: readonly (readonly [offset: number, lengthBytes: number])[]
}

export class Segment {
  /** POSIX name, null for the segment of this process. */
  readonly name: string | null
  /** Of the file that the name stood for, 0 for the segment of this process. */
  readonly inode: number
  readonly buffer: ArrayBuffer | SharedArrayBuffer
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly u8: Uint8Array
  readonly b64: BigInt64Array
  readonly sizeBytes: number
  /** Byte offset of the tables of the layer above. */
  readonly staticStart: number
  readonly heapStart: number
  /** Copies bytes within the segment; overlapping ranges behave as with memmove. */
  readonly copy: (dst: number, src: number, length: number) => void
  /** The same, and the last byte becomes visible after all others. */
  readonly copyOrdered: (dst: number, src: number, length: number) => void
  /** This thread's attachment number. */
  readonly me: number
  /** What this thread writes into locks: its attachment number, and which use of that number it is. */
  readonly lockValue: number
  readonly #operation: number
  readonly #shared: boolean
  readonly #pages: Pages
  /** This thread has given its attachment back. */
  #left = false
  #bells: Bells | undefined

  private constructor(
    name: string | null,
    inode: number,
    buffer: ArrayBuffer | SharedArrayBuffer,
    wasm: WasmMemory | undefined,
  ) {
    this.name = name
    this.inode = inode
    this.buffer = buffer
    this.#shared = buffer instanceof SharedArrayBuffer
    this.i32 = new Int32Array(buffer)
    this.f64 = new Float64Array(buffer)
    this.u8 = new Uint8Array(buffer)
    this.b64 = new BigInt64Array(buffer)
    this.copy = makeCopier(this.u8, wasm)
    this.copyOrdered = makeOrderedCopier(this.u8, wasm)
    const i32 = this.i32
    this.sizeBytes = i32[H.pages]! * pageBytes
    this.staticStart = i32[H.staticStart]!
    this.heapStart = i32[H.heapStart]!
    this.#pages = new Pages(
      i32,
      pagesLayout(i32),
      this.#shared ? processBacking(this.u8, wasm) : sharedBacking(buffer as ArrayBuffer),
    )
    this.lockValue = this.#attach()
    this.me = this.lockValue & ownerMask
    this.#operation = (attachmentsStart + this.me * attachmentBytes) / 4 + A.operation
  }

  /** Bytes of a segment with room for so many bytes of pages, at most 2 GiB: beyond, offsets do not fit in a word. */
  static sizeFor(staticBytes: number, heapBytes: number): number {
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
  static format(i32: Int32Array, sizeBytes: number, staticBytes: number): void {
    i32[H.version] = layoutVersion
    i32[H.pages] = pagesOf(sizeBytes)
    i32[H.pageTable] = pageTableStart
    i32[H.granuleTable] = granuleTableOf(sizeBytes)
    i32[H.staticStart] = staticStartOf(sizeBytes)
    i32[H.staticBytes] = staticBytes
    i32[H.heapStart] = heapStartOf(sizeBytes, staticBytes)
    Pages.format(i32, pagesLayout(i32))
    i32[H.epoch] = 1
    i32[H.magic] = magic
  }

  /**
   * Makes the memory that all threads of this process share, unless a parent thread has: workers started from now on
   * inherit it.
   */
  static prepareProcess(options: SegmentOptions): WasmMemory | SharedArrayBuffer {
    const inherited = getEnvironmentData(environmentKey) as unknown as WasmMemory | SharedArrayBuffer | undefined
    if (typeof inherited === 'object') return inherited
    const memory = newProcessMemory(options)
    const buffer = memory instanceof SharedArrayBuffer ? memory : memory.buffer
    Segment.format(new Int32Array(buffer), buffer.byteLength, options.staticBytes)
    setEnvironmentData(environmentKey, memory as unknown as SharedArrayBuffer)
    return memory
  }

  /** Whether a thread of this process has used the segment that all of them share. */
  static isUsedInProcess(): boolean {
    const memory = getEnvironmentData(environmentKey) as unknown as WasmMemory | SharedArrayBuffer | undefined
    if (typeof memory !== 'object') return false
    return new Int32Array(memory instanceof SharedArrayBuffer ? memory : memory.buffer)[H.attachmentsHigh]! > 0
  }

  /** The segment that all threads of this process share. */
  static ofProcess(options: SegmentOptions): Segment {
    const memory = Segment.prepareProcess(options)
    const plain = memory instanceof SharedArrayBuffer
    const segment = new Segment(null, 0, plain ? memory : memory.buffer, plain ? undefined : memory)
    segment.#endWhenStopped()
    return segment
  }

  /**
   * Opens or creates the named segment; a stale one, whose processes are all gone, is replaced. Throws `SegmentError`, and
   * `NativeError` where the file cannot be opened or is not to be trusted.
   */
  static named(name: string, options: SegmentOptions): Segment {
    if (!nativeAvailable)
      throw new SegmentError(
        'EOPNOTSUPP',
        `a segment between processes needs the koffi package on Linux: ${nativeReason}`,
      )
    for (let attempt = 0; attempt < 100; attempt++) {
      const mapping = mapShared(segmentFile(name), options.sizeBytes, 'open-or-create')
      let segment: Segment | null = null
      try {
        segment = mapping.created ? Segment.#create(name, mapping, options) : Segment.#join(name, mapping, options)
      } finally {
        if (segment === null) unmap(mapping.buffer)
      }
      if (segment !== null) {
        segment.#endWhenStopped()
        return segment
      }
      sleepMs(1)
    }
    throw new SegmentError('ENXIO', `segment '${name}' could not be opened: other processes keep replacing it`)
  }

  /** Null if somebody took the name away meanwhile. */
  static #create(name: string, { buffer, inode }: SharedMapping, options: SegmentOptions): Segment | null {
    const { fresh, ready } = headerState
    const i32 = new Int32Array(buffer)
    const staticStart = staticStartOf(buffer.byteLength)
    try {
      commitShared(buffer, 0, staticStart)
      Segment.format(i32, buffer.byteLength, options.staticBytes)
      const pages = new Pages(i32, pagesLayout(i32), sharedBacking(buffer))
      pages.commit(0, staticStart / pageBytes)
      for (const [offset, bytes] of options.committed ?? [[0, options.staticBytes]])
        if (bytes > 0) pages.commit(...pagesFor(staticStart + offset, bytes))
    } catch (error) {
      unlinkShared(segmentFile(name), inode)
      throw outOfMemory(error, `segment '${name}' could not be created`)
    }
    if (!markUsed(buffer)) return null
    // Its creator is in it before anyone else is, so that nobody finds it empty.
    const segment = new Segment(name, inode, buffer, undefined)
    return Atomics.compareExchange(i32, H.state, fresh, ready) === fresh ? segment : null
  }

  /** Null if the name has to be opened anew: then this is not, or will not be, what the name stands for. */
  static #join(name: string, { buffer, inode }: SharedMapping, options: SegmentOptions): Segment | null {
    const file = segmentFile(name)
    const { fresh, ready, retired } = headerState
    const i32 = wordsOf(buffer)
    if (i32 === null) return replaceDamaged(file, inode)
    // Who makes it, and who takes its name away, is about to be done, unless it died.
    for (const transient of [fresh, retired]) {
      if (settles(i32, file, inode, transient)) continue
      if (transient === retired || Atomics.compareExchange(i32, H.state, fresh, retired) === fresh)
        unlinkShared(file, inode)
      return null
    }
    const state = Atomics.load(i32, H.state)
    if (state === fresh || state === retired) return null
    if (state !== ready || i32[H.magic] !== magic) return replaceDamaged(file, inode)
    if (i32[H.version] !== layoutVersion || i32[H.staticBytes] !== options.staticBytes) {
      if (anyoneAlive(i32))
        throw new SegmentError(
          'ENXIO',
          `segment '${name}' belongs to another version of verbena that is running: end its programs first`,
        )
      unlinkShared(file, inode)
      return null
    }
    if (!wellFormed(i32)) return replaceDamaged(file, inode)
    if (usedElsewhere(i32)) {
      // The numbers of its processes mean nothing here, so nobody could be told from the dead.
      if (!everUnused(buffer))
        throw new SegmentError(
          'ENXIO',
          `segment '${name}' is used by processes of another container (PID namespace), and those of two cannot tell whether ` +
            'the others still live: let them share one (docker run --pid, shareProcessNamespace of Kubernetes), or use another name',
        )
      if (Atomics.compareExchange(i32, H.state, ready, retired) === ready) unlinkShared(file, inode)
      return null
    }
    // Everyone who used it is gone without cleaning up.
    if (!anyoneAlive(i32)) {
      retire(i32, file, inode)
      return null
    }
    if (!markUsed(buffer)) return null
    const segment = new Segment(name, inode, buffer, undefined)
    if (Atomics.load(i32, H.state) === ready) return segment
    Atomics.store(i32, attachmentWord(segment.me) + A.state, attachmentState.free)
    return null
  }

  /** Removes a named segment whose users are all gone; true if it did. */
  static removeStale(name: string): boolean {
    const { buffer, inode } = mapShared(segmentFile(name), 0, 'open')
    try {
      const i32 = wordsOf(buffer)
      return i32 !== null && isOurs(i32) && !usedElsewhere(i32) && retire(i32, segmentFile(name), inode)
    } finally {
      unmap(buffer)
    }
  }

  /** Reads a named segment that somebody uses, without joining it; null if there is none. `tables` is their first word. */
  static peek<T>(name: string, read: (i32: Int32Array, tables: number) => T): T | null {
    const { buffer } = mapShared(segmentFile(name), 0, 'open')
    try {
      const i32 = wordsOf(buffer)
      if (i32 === null || !isOurs(i32) || usedElsewhere(i32) || !anyoneAlive(i32)) return null
      return read(i32, i32[H.staticStart]! / 4)
    } finally {
      unmap(buffer)
    }
  }

  // --- attachments -------------------------------------------------------------------------------------------------

  /** Returns the use that this thread makes of an attachment from now on. */
  #attach(): number {
    const i32 = this.i32
    const tid = osThreadId()
    for (let id = 1; id < maxAttachments; id++) {
      const a = attachmentWord(id)
      const { free, taken } = attachmentState
      if (i32[a + A.state] === free && Atomics.compareExchange(i32, a + A.state, free, taken) === free) {
        i32[a + A.pid] = process.pid
        i32[a + A.tid] = tid
        this.f64[(a + A.startTime) >> 1] = threadStartTime(process.pid, tid)
        i32[a + A.operation] = 0
        i32[a + A.janitor] = 0
        i32[a + A.stopped] = 0
        i32[a + A.pidNamespace] = pidNamespace()
        i32.fill(0, a + A.bell, a + A.bell + Bell.words)
        i32[a + A.generation] = (i32[a + A.generation]! + 1) & generationMask
        const use = id | (i32[a + A.generation]! << ownerBits)
        Atomics.store(i32, a + A.state, use)
        for (let high = i32[H.attachmentsHigh]!; high < id; high = i32[H.attachmentsHigh]!)
          Atomics.compareExchange(i32, H.attachmentsHigh, high, id)
        return use
      }
    }
    throw new SegmentError('ENOMEM', `more than ${maxAttachments - 1} threads use this segment`)
  }

  /** Where this thread stops for good it counts as dead. */
  #endWhenStopped(): void {
    const { i32, lockValue } = this
    const a = attachmentWord(this.me)
    whenStopped(() => {
      if (Atomics.load(i32, a + A.state) === lockValue) Atomics.store(i32, a + A.stopped, 1)
    })
  }

  /** Whether the thread behind an attachment still runs; a reading of /proc, so not for the data path. */
  attachmentAlive(id: number): boolean {
    if (id === this.me) return true
    const a = attachmentWord(id)
    return isUse(this.i32[a + A.state]!) && threadRuns(this.i32, this.f64, a)
  }

  attachmentPid(id: number): number {
    return this.i32[attachmentWord(id) + A.pid]!
  }

  /** The uses of attachments whose threads ended without cleaning up. */
  deadAttachments(): number[] {
    const dead: number[] = []
    for (let id = 1; id <= this.i32[H.attachmentsHigh]!; id++) {
      const a = attachmentWord(id)
      this.#unclaim(id)
      const use = Atomics.load(this.i32, a + A.state)
      if (isUse(use) && id !== this.me && !threadRuns(this.i32, this.f64, a)) dead.push(use)
    }
    return dead
  }

  /** Says that this thread cleans up after dead processes. */
  becomeJanitor(): void {
    this.i32[attachmentWord(this.me) + A.janitor] = 1
  }

  /** Whether a thread of this process does. */
  hasJanitor(): boolean {
    for (let id = 1; id <= this.i32[H.attachmentsHigh]!; id++) {
      const a = attachmentWord(id)
      if (this.i32[a + A.janitor] === 1 && this.i32[a + A.pid] === process.pid && this.attachmentAlive(id)) return true
    }
    return false
  }

  /** Of all that see a thread gone, one may clean up after its use of an attachment: that one gets its number, others 0. */
  claim(use: number): number {
    const id = use & ownerMask
    // Nobody takes a living thread for dead, and the locks that it takes while it cleans up must stay its own.
    if (use === this.lockValue) return id
    const taken = attachmentState.taken | this.lockValue
    return Atomics.compareExchange(this.i32, attachmentWord(id) + A.state, use, taken) === use ? id : 0
  }

  /** Gives up the claim of a thread that ended while it cleaned up, so that another one does it. */
  #unclaim(id: number): void {
    const { i32 } = this
    const a = attachmentWord(id)
    const state = Atomics.load(i32, a + A.state)
    const reaper = state & ~attachmentState.taken
    if (state >= 0 || reaper === 0 || reaper === this.lockValue || this.#ownerAlive(reaper)) return
    Atomics.compareExchange(i32, a + A.state, state, id | (i32[a + A.generation]! << ownerBits))
  }

  /**
   * The uses that this process makes of attachments: of this thread, and in the main thread of all, since they end with it.
   * This thread's is the last: whoever cleans up needs it until then, since locks of one who has none are anybody's.
   */
  ownAttachments(): number[] {
    if (!isMainThread) return [this.lockValue]
    const own: number[] = []
    for (let id = 1; id <= this.i32[H.attachmentsHigh]!; id++) {
      const a = attachmentWord(id)
      const use = Atomics.load(this.i32, a + A.state)
      if (isUse(use) && use !== this.lockValue && this.i32[a + A.pid] === process.pid) own.push(use)
    }
    return [...own, this.lockValue]
  }

  /**
   * Runs no further if another thread has taken over what this one has: the main thread of a process that ends does so
   * with all threads of the process, which run on for a moment. Under a lock, since they are taken over under one.
   */
  stopIfTakenOver(lock: number): void {
    if (isMainThread || this.#left || Atomics.load(this.i32, attachmentWord(this.me) + A.state) === this.lockValue)
      return
    this.unlock(lock)
    stopForGood()
  }

  /** Gives an attachment's number and memory back. The layer above has cleaned its tables before. */
  release(id: number): void {
    const { i32, name } = this
    if (id === this.me) this.#left = true
    this.#freeRunsOf(id)
    Atomics.store(i32, attachmentWord(id) + A.state, attachmentState.free)
    if (name !== null) retire(i32, segmentFile(name), this.inode)
  }

  // --- operations and grace periods --------------------------------------------------------------------------------
  //
  // What a thread knows of shared objects (keys, peers, rings) it may remember for as long as the epoch stays the same.
  // Whoever changes or destroys such an object bumps the epoch and then, before memory is used anew, waits in `quiesce`
  // for the operations that may have looked before. An operation therefore is: enter, a full barrier, read the epoch,
  // work, leave. It takes only locks whose holders never call `quiesce`.
  //
  // Where the kernel can make all threads of the process pass a barrier (membarrier), the frequent side needs none of
  // its own: `quiesce`, the rare side, makes them.

  /**
   * Whether an operation may read the epoch right after entering, without a full barrier of its own. Between processes
   * and on processors that reorder stores it may not.
   */
  entersFreely(): boolean {
    const i32 = this.i32
    if (Atomics.load(i32, H.freeEntry) === 1) return true
    if (!processorOrders || !this.#shared || !registerMembarrier()) return false
    // A full barrier: whoever bumped the epoch before and did not see this is seen by every operation after it.
    Atomics.store(i32, H.freeEntry, 1)
    return true
  }

  /** The word to compare; it changes with every change of an object. */
  get epochWord(): number {
    return H.epoch
  }

  /** The word to make odd on entering and even on leaving, for who writes out `enter` and `leave`. */
  get operationWord(): number {
    return this.#operation
  }

  /** Makes everything that threads remember of shared objects void. */
  bumpEpoch(): void {
    Atomics.add(this.i32, H.epoch, 1)
  }

  /** Marks that this thread is in an operation; a full barrier (taking a lock) must follow, unless `entersFreely`. */
  enter(): void {
    const i32 = this.i32
    if (processorOrders) i32[this.#operation] = (i32[this.#operation]! + 1) | 0
    else Atomics.add(i32, this.#operation, 1)
  }

  /** The same where no lock follows. */
  enterNow(): void {
    Atomics.add(this.i32, this.#operation, 1)
  }

  leave(): void {
    const i32 = this.i32
    if (processorOrders) i32[this.#operation] = (i32[this.#operation]! + 1) | 0
    else Atomics.add(i32, this.#operation, 1)
  }

  /** Waits until every operation that was under way when it was called has ended, as RCU's synchronize does. */
  quiesce(): void {
    const i32 = this.i32
    // In a thread without native functions: the time in which every processor has written its stores.
    if (Atomics.load(i32, H.freeEntry) === 1 && i32[H.attachmentsHigh]! > 1 && !membarrier()) sleepMs(1)
    for (let id = 1; id <= i32[H.attachmentsHigh]!; id++) {
      const a = attachmentWord(id)
      if (id === this.me || !isUse(i32[a + A.state]!)) continue
      const sequence = Atomics.load(i32, a + A.operation)
      if ((sequence & 1) === 0) continue
      for (let spins = 0; Atomics.load(i32, a + A.operation) === sequence; spins++) {
        if (spins > 2000) {
          if (spins % 64 === 0 && !this.attachmentAlive(id)) break
          sleepMs(0.05)
        }
      }
    }
  }

  // --- locks -------------------------------------------------------------------------------------------------------

  lock(word: number): void {
    if (Atomics.compareExchange(this.i32, word, 0, this.lockValue) !== 0) this.#lockSlow(word)
  }

  unlock(word: number): void {
    if (processorOrders) this.i32[word] = 0
    else Atomics.store(this.i32, word, 0)
  }

  /** Reads a word before everything read after it. */
  observe(word: number): number {
    return processorOrders ? this.i32[word]! : Atomics.load(this.i32, word)
  }

  /** Stores a word after everything written before it. */
  publish(word: number, value: number): void {
    if (processorOrders) this.i32[word] = value
    else Atomics.store(this.i32, word, value)
  }

  #lockSlow(word: number): void {
    const { i32, lockValue } = this
    for (let spins = 0; spins < 4000; spins++) {
      if (i32[word] === 0 && Atomics.compareExchange(i32, word, 0, lockValue) === 0) return
    }
    // Without a limit: as long as its owner lives, what the lock protects is its own. That a process was stopped (by a signal,
    // a debugger, or with its container) is no reason to break its data, nor one for an error in the middle of an operation.
    for (;;) {
      const owner = Atomics.compareExchange(i32, word, 0, lockValue)
      if (owner === 0) return
      if (owner === lockValue)
        throw new SegmentError(
          'ETIMEDOUT',
          `lock ${word} is held by this thread already: an operation was interrupted in its middle`,
        )
      if (!this.#ownerAlive(owner) && Atomics.compareExchange(i32, word, owner, lockValue) === owner) return
      sleepMs(0.05)
    }
  }

  /** Takes a lock away from a thread that ended while it had it. */
  releaseDead(word: number): void {
    const owner = Atomics.load(this.i32, word)
    if (owner !== 0 && !this.#ownerAlive(owner)) Atomics.compareExchange(this.i32, word, owner, 0)
  }

  #ownerAlive(owner: number): boolean {
    const id = owner & ownerMask
    return this.i32[attachmentWord(id) + A.state] === owner && this.attachmentAlive(id)
  }

  /** The lock for creating, changing and destroying objects. */
  get controlLock(): number {
    return H.controlLock
  }

  // --- waiting -----------------------------------------------------------------------------------------------------

  /** Blocks while the word has the expected value, at most `timeoutMs`. */
  wait(word: number, expected: number, timeoutMs: number): void {
    if (this.#shared) Atomics.wait(this.i32, word, expected, timeoutMs)
    else
      futexWait(
        this.buffer as ArrayBuffer,
        word * 4,
        expected,
        timeoutMs === Number.POSITIVE_INFINITY ? 3600e9 : timeoutMs * 1e6,
      )
  }

  /** The same without blocking; the promise keeps the process alive while it is pending. */
  async waitAsync(word: number, expected: number, timeoutMs: number): Promise<void> {
    const ms = Math.min(timeoutMs, 100)
    if (this.#shared) {
      const atomics = Atomics as unknown as {
        waitAsync(a: Int32Array, i: number, v: number, t: number): { async: boolean; value: unknown }
      }
      const result = atomics.waitAsync(this.i32, word, expected, ms)
      if (!result.async) return
      // V8's promise does not hold the event loop open; a timer does.
      const hold = setInterval(() => {}, 1000)
      try {
        await result.value
      } finally {
        clearInterval(hold)
      }
    } else await futexWaitAsync(this.buffer as ArrayBuffer, word * 4, expected, ms * 1e6)
  }

  /**
   * Whether other threads can wake this one in its event loop with `ring`, also those of other processes. If not,
   * `waitAsync` and `notify` do.
   */
  get hearsBells(): boolean {
    return !this.#shared && this.bells.usable
  }

  get bells(): Bells {
    this.#bells ??= new Bells(this.i32, this.f64, attachmentWord(this.me) + A.bell)
    return this.#bells
  }

  /** Wakes the thread with this attachment, which waits with `bells.wait`. */
  ring(attachment: number): void {
    const a = attachmentWord(attachment)
    this.bells.ring(a + A.bell, this.i32[a + A.pid]!)
  }

  /**
   * A descriptor that ends this thread's waits in the kernel when others signal it; of the process's own segment only. It is
   * never closed but left to the next thread with this attachment number, so that a late signal meets nothing else.
   */
  get eventFd(): number {
    const word = attachmentWord(this.me) + A.eventFd
    if (this.i32[word] === 0) this.i32[word] = makeEventFd() + 1
    return this.i32[word]! - 1
  }

  notify(word: number): void {
    if (this.#shared) Atomics.notify(this.i32, word)
    else futexWake(this.buffer as ArrayBuffer, word * 4, 0x7fffffff)
  }

  // --- pages -------------------------------------------------------------------------------------------------------

  /** Allocates whole pages, zeroed; the byte offset. Throws `SegmentError` (ENOMEM). */
  allocate(bytes: number, owner: number = this.me): number {
    const pages = Math.max(1, Math.ceil(bytes / pageBytes))
    if (pages > this.i32[H.pages]!)
      throw new SegmentError('ENOMEM', `${bytes} bytes are more than one allocation can have`)
    const dirty: number[] = []
    let at = -1
    this.lock(H.pagesLock)
    try {
      at = this.#pages.allocate(pages, owner, dirty)
    } catch (error) {
      throw outOfMemory(error, `${pages * pageBytes} bytes could not be allocated`)
    } finally {
      this.unlock(H.pagesLock)
    }
    if (at < 0)
      throw new SegmentError(
        'ENOMEM',
        `no ${pages * pageBytes} contiguous bytes left in the ${(this.sizeBytes - this.heapStart) >> 20} MiB of the segment; ` +
          `free something or set VERBENA_SHM_MIB to more (${segmentSetting()})`,
      )
    // V8 fills shared memory element by element. Measured on Node 20, 256 KiB: bytes 240 µs, 32-bit words 31, 64-bit words 14.
    for (let i = 0; i < dirty.length; i += 2)
      this.b64.fill(0n, (dirty[i]! * pageBytes) / 8, (dirty[i + 1]! * pageBytes) / 8)
    return at * pageBytes
  }

  free(byteOffset: number): void {
    if (byteOffset % pageBytes !== 0) return
    this.lock(H.pagesLock)
    try {
      this.#pages.free(byteOffset / pageBytes)
    } finally {
      this.unlock(H.pagesLock)
    }
  }

  /** Bytes of the run that starts here, 0 if none does. */
  allocatedBytes(byteOffset: number): number {
    return byteOffset % pageBytes === 0 ? this.#pages.length(byteOffset / pageBytes) * pageBytes : 0
  }

  /**
   * Sees to it that a part of the tables has memory, before something is written to it for the first time. Throws
   * `SegmentError` (ENOMEM).
   */
  commit(byteOffset: number, lengthBytes: number): void {
    if (this.#shared) return
    const [first, end] = pagesFor(byteOffset, lengthBytes)
    if (this.#pages.committed(first, end)) return
    this.lock(H.pagesLock)
    try {
      this.#pages.commit(first, end)
    } catch (error) {
      throw outOfMemory(error, 'a table cannot grow')
    } finally {
      this.unlock(H.pagesLock)
    }
  }

  #freeRunsOf(id: number): void {
    this.lock(H.pagesLock)
    try {
      this.#pages.freeAllOf(id)
    } finally {
      this.unlock(H.pagesLock)
    }
  }
}

const environmentKey = 'verbena.segment'

/** Below so many bytes of pages there is no use in trying less. */
const leastHeapBytes = 8 << 20

function newProcessMemory({ staticBytes, sizeBytes }: SegmentOptions): WasmMemory | SharedArrayBuffer {
  const least = Math.min(sizeBytes, Segment.sizeFor(staticBytes, leastHeapBytes))
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

function processBacking(u8: Uint8Array, wasm: WasmMemory | undefined): Backing {
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

function sharedBacking(buffer: ArrayBuffer): Backing {
  return {
    commit(byteOffset, lengthBytes) {
      commitShared(buffer, byteOffset, lengthBytes)
    },
    release(byteOffset, lengthBytes) {
      return releaseShared(buffer, byteOffset, lengthBytes)
    },
  }
}

/** That the system has no memory is a `SegmentError` here; everything else stays what it is. */
function outOfMemory(error: unknown, what: string): unknown {
  if (!(error instanceof NativeError) || !['ENOSPC', 'ENOMEM', 'EDQUOT'].includes(error.code)) return error
  return new SegmentError('ENOMEM', `${what}: ${error.message}`)
}

// --- the layout of a segment of so many bytes ------------------------------------------------------------------------

function pagesOf(sizeBytes: number): number {
  return Math.floor(sizeBytes / granuleBytes) * granulePages
}

/** First word of the table of granules. */
function granuleTableOf(sizeBytes: number): number {
  return pageTableStart / 4 + pagesOf(sizeBytes)
}

function staticStartOf(sizeBytes: number): number {
  return roundUp((granuleTableOf(sizeBytes) + pagesOf(sizeBytes) / granulePages) * 4, granuleBytes)
}

function heapStartOf(sizeBytes: number, staticBytes: number): number {
  return staticStartOf(sizeBytes) + roundUp(staticBytes, granuleBytes)
}

function pagesLayout(i32: Int32Array): PagesLayout {
  return {
    header: H.heap,
    pageTable: i32[H.pageTable]! / 4,
    granuleTable: i32[H.granuleTable]!,
    first: i32[H.heapStart]! / pageBytes,
    end: i32[H.pages]!,
  }
}

/** The pages that hold these bytes: the first, and the one after the last. */
function pagesFor(byteOffset: number, lengthBytes: number): [first: number, end: number] {
  return [Math.floor(byteOffset / pageBytes), Math.ceil((byteOffset + lengthBytes) / pageBytes)]
}

// --- what a file holds -----------------------------------------------------------------------------------------------

/** Null if it cannot be a segment, by its length. */
function wordsOf(buffer: ArrayBuffer): Int32Array | null {
  return buffer.byteLength % pageBytes === 0 && buffer.byteLength > pageTableStart ? new Int32Array(buffer) : null
}

/** Whether the header is that of a segment of this version, with the length that it has. */
function isOurs(i32: Int32Array): boolean {
  return i32[H.magic] === magic && i32[H.version] === layoutVersion && wellFormed(i32)
}

function wellFormed(i32: Int32Array): boolean {
  const sizeBytes = i32.byteLength
  return (
    i32[H.pages] === pagesOf(sizeBytes) &&
    i32[H.staticStart] === staticStartOf(sizeBytes) &&
    i32[H.heapStart] === heapStartOf(sizeBytes, i32[H.staticBytes]!) &&
    i32[H.heapStart]! < sizeBytes
  )
}

/** Takes the name away from what is no segment: a file of this user, under a name that only segments have. */
function replaceDamaged(file: string, inode: number): null {
  unlinkShared(file, inode)
  return null
}

/** Whether a process with a number of another PID namespace has attached. */
function usedElsewhere(i32: Int32Array): boolean {
  const own = pidNamespace()
  for (let id = 1; id < maxAttachments; id++) {
    const a = attachmentWord(id)
    if (isUse(i32[a + A.state]!) && isForeign(i32[a + A.pidNamespace]!, own)) return true
  }
  return false
}

function isForeign(namespace: number, own: number): boolean {
  return namespace !== own && namespace !== 0 && own !== 0
}

/** Whether nobody uses the file; asked more than once, since somebody else may be asking. */
function everUnused(buffer: ArrayBuffer): boolean {
  for (let attempt = 0; attempt < 20; attempt++) {
    if (isUnused(buffer)) return true
    sleepMs(1)
  }
  return false
}

function attachmentWord(id: number): number {
  return (attachmentsStart + id * attachmentBytes) / 4
}

function threadRuns(i32: Int32Array, f64: Float64Array, a: number): boolean {
  if (i32[a + A.stopped] === 1) return false
  // The number of a process of another container says nothing here.
  if (isForeign(i32[a + A.pidNamespace]!, pidNamespace())) return true
  return threadAlive(i32[a + A.pid]!, i32[a + A.tid]!, f64[(a + A.startTime) >> 1]!)
}

function anyoneAlive(i32: Int32Array): boolean {
  const f64 = new Float64Array(i32.buffer)
  for (let id = 1; id < maxAttachments; id++) {
    const a = attachmentWord(id)
    if (isUse(i32[a + A.state]!) && threadRuns(i32, f64, a)) return true
  }
  return false
}

/** Takes the name of a segment away that nobody uses; false if somebody does, or somebody else takes it away. */
function retire(i32: Int32Array, file: string, inode: number): boolean {
  const { ready, retired } = headerState
  if (anyoneAlive(i32) || Atomics.compareExchange(i32, H.state, ready, retired) !== ready) return false
  // Looked at again: who attached meanwhile sees that it is retired, or is seen.
  if (!anyoneAlive(i32)) return unlinkShared(file, inode)
  Atomics.compareExchange(i32, H.state, retired, ready)
  return false
}

/** Waits until a segment is not in this state any more, or has lost its name; false if that takes too long. */
function settles(i32: Int32Array, file: string, inode: number, transient: number): boolean {
  for (let waited = 0; Atomics.load(i32, H.state) === transient; waited++) {
    if (inodeOf(file) !== inode) return true
    if (waited === transientMs) return false
    sleepMs(1)
  }
  return true
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit
}

const filePrefix = 'verbena-'

/** File name under /dev/shm of a named segment. */
export function segmentFile(name: string): string {
  return filePrefix + name
}

/** A random 32-bit number from the system's generator, never 0 or −1. */
export function randomKey(): number {
  for (;;) {
    const key = randomBytes(4).readInt32LE()
    if (key !== 0 && key !== -1) return key
  }
}

export { filePrefix as segmentFilePrefix }
