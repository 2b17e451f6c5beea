/**
 * A segment is one address space that several threads or processes share: the memory in which queues, tables and message buffers live. An
 * address on the data path is a byte offset into it.
 *
 * segment-layout.ts defines its layout, attachments.ts the threads that use it, pages.ts the allocation of its heap.
 *
 * Of a named segment only what is in use takes memory: it is a sparse file whose pages are committed before they are touched (`commit`,
 * `allocate`). Where /dev/shm has no more, that is an error with code ENOMEM and never a signal.
 *
 * Within one process it is a shared WebAssembly memory, because `memory.copy` is four times faster than copying on a SharedArrayBuffer in
 * V8 (see copy.ts), and threads wait with `Atomics.wait`. Between processes it is a mapping of POSIX shared memory, and threads wait on
 * futexes.
 *
 * Locks are words that hold the attachment number and generation of their owner, so that a waiter can see that the owner died and take the
 * lock over. Whatever a lock protects is written in an order that leaves it usable at every step.
 */
import { isMainThread } from 'node:worker_threads'
import { Attachments, anyoneAlive, usedElsewhere } from './attachments.ts'
import { processBacking, sharedBacking } from './backing.ts'
import { makeCopier, makeOrderedCopier } from './copy.ts'
import { lookAtHeld, watchesHeld, watchHeld } from './held.ts'
import { untilLook } from './looks.ts'
import {
  askForShortSlices,
  type BarrierScope,
  commitShared,
  destroyPollContext,
  futexWait,
  futexWaitAsync,
  futexWake,
  mapHead,
  mapShared,
  markUsed,
  membarrier,
  nativeAvailable,
  nativeReason,
  registerMembarrier,
  type SharedMapping,
  segmentSetting,
  stopForGood,
  unlinkShared,
  unlinkUnused,
  unmap,
  type WasmMemory,
  whenStopped,
} from './native/index.ts'
import { Pages, pageBytes } from './pages.ts'
import { Parking, pollContextOf } from './parking.ts'
import { prepareProcessMemory } from './process-memory.ts'
import { processorOrders, sleepMs } from './processor.ts'
import { ofOtherContainer, ofOtherVersion, outOfMemory, SegmentError } from './segment-errors.ts'
import { everUnused, isTransient, replaceDamaged, retire, segmentFile, settles } from './segment-files.ts'
import {
  Attachment,
  attachmentState,
  attachmentWord,
  formatSegment,
  graveOwner,
  Header,
  headBytes,
  headerState,
  isOurs,
  isUse,
  layoutVersion,
  magic,
  ownerMask,
  pagesFor,
  pagesLayout,
  staticStartOf,
  wellFormed,
  wordsOf,
} from './segment-layout.ts'
import { rememberWasm } from './wasm-code.ts'

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

export class Segment extends Attachments {
  /** POSIX name, null for the segment of this process. */
  readonly name: string | null
  /** Inode of the file that the name stood for, 0 for the segment of this process. */
  readonly inode: number
  readonly buffer: ArrayBuffer | SharedArrayBuffer
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
  readonly #operation: number
  readonly #shared: boolean
  readonly #pages: Pages
  /** True if this thread has given its attachment back. */
  #left = false
  /** True if `membarrier` reaches this process, and `Header.freeEntry` indicates that it is needed. */
  #registered = false
  readonly #barrierScope: BarrierScope
  #parking: Parking | undefined

  private constructor(
    name: string | null,
    inode: number,
    buffer: ArrayBuffer | SharedArrayBuffer,
    wasm: WasmMemory | undefined,
  ) {
    super(new Int32Array(buffer), new Float64Array(buffer))
    this.name = name
    this.inode = inode
    this.buffer = buffer
    this.#shared = buffer instanceof SharedArrayBuffer
    this.#barrierScope = this.#shared ? 'process' : 'processes'
    this.u8 = new Uint8Array(buffer)
    this.b64 = new BigInt64Array(buffer)
    if (wasm !== undefined) rememberWasm(wasm)
    this.copy = makeCopier(this.u8, wasm)
    this.copyOrdered = makeOrderedCopier(this.u8, wasm)
    const i32 = this.i32
    this.sizeBytes = i32[Header.pages]! * pageBytes
    this.staticStart = i32[Header.staticStart]!
    this.heapStart = i32[Header.heapStart]!
    this.#pages = new Pages(
      i32,
      pagesLayout(i32),
      this.#shared ? processBacking(this.u8, wasm) : sharedBacking(buffer as ArrayBuffer),
    )
    this.#operation = attachmentWord(this.me) + Attachment.operation
    if (watchesHeld) watchHeld(this)
    askForShortSlices()
  }

  /** The segment that all threads of this process share. */
  static ofProcess(options: SegmentOptions): Segment {
    const memory = prepareProcessMemory(options)
    const plain = memory instanceof SharedArrayBuffer
    const segment = new Segment(null, 0, plain ? memory : memory.buffer, plain ? undefined : memory)
    segment.#endWhenStopped()
    return segment
  }

  /**
   * Opens or creates the named segment; a stale one, whose processes are all gone, is replaced. Throws `SegmentError`, and `NativeError`
   * where the file cannot be opened or is not to be trusted: ENOENT if it is only to be opened and no process uses it.
   */
  static named(name: string, options: SegmentOptions, mode: 'open' | 'open-or-create' = 'open-or-create'): Segment {
    if (!nativeAvailable)
      throw new SegmentError(
        'EOPNOTSUPP',
        `a segment between processes needs the koffi package on Linux: ${nativeReason}`,
      )
    for (let attempt = 0; attempt < 100; attempt++) {
      const mapping = mapShared(segmentFile(name), options.sizeBytes, mode)
      let segment: Segment | null = null
      try {
        segment = mapping.created ? Segment.#create(name, mapping, options) : Segment.#join(name, mapping, options)
      } finally {
        if (segment === null) unmap(mapping.buffer)
      }
      if (segment !== null) {
        segment.#endWhenStopped()
        // Until it is a janitor, too, they have to look for its end.
        segment.wakeJanitors()
        return segment
      }
      sleepMs(1)
    }
    throw new SegmentError('ENXIO', `segment '${name}' could not be opened: other processes keep replacing it`)
  }

  /** Null if another process took the name away meanwhile. */
  static #create(name: string, { buffer, wasm, inode }: SharedMapping, options: SegmentOptions): Segment | null {
    const { fresh, ready } = headerState
    const i32 = new Int32Array(buffer)
    const staticStart = staticStartOf(buffer.byteLength)
    try {
      commitShared(buffer, 0, staticStart)
      formatSegment(i32, buffer.byteLength, options.staticBytes)
      const pages = new Pages(i32, pagesLayout(i32), sharedBacking(buffer))
      pages.commit(0, staticStart / pageBytes)
      for (const [offset, bytes] of options.committed ?? [[0, options.staticBytes]])
        if (bytes > 0) pages.commit(...pagesFor(staticStart + offset, bytes))
    } catch (error) {
      unlinkShared(segmentFile(name), inode)
      throw outOfMemory(error, `segment '${name}' could not be created`)
    }
    // Its creator attaches before any other thread, so that no thread finds it empty.
    const segment = new Segment(name, inode, buffer, wasm ?? undefined)
    return Atomics.compareExchange(i32, Header.state, fresh, ready) === fresh ? segment : null
  }

  /** Null if the name has to be opened again: then this is not, or will not be, the segment of that name. */
  static #join(
    name: string,
    { buffer, wasm, inode, sizeBytes }: SharedMapping,
    options: SegmentOptions,
  ): Segment | null {
    const file = segmentFile(name)
    const { fresh, ready, retired } = headerState
    const i32 = wordsOf(buffer, sizeBytes)
    if (i32 === null) return replaceDamaged(file, inode)
    // A process that makes it, or takes its name away, is about to be done, unless it died.
    for (const transient of [fresh, retired]) {
      if (settles(i32, file, inode, transient)) continue
      if (transient === retired || Atomics.compareExchange(i32, Header.state, fresh, retired) === fresh)
        unlinkShared(file, inode)
      return null
    }
    const state = Atomics.load(i32, Header.state)
    if (state === fresh || state === retired) return null
    if (state !== ready || i32[Header.magic] !== magic) return replaceDamaged(file, inode)
    const [found, own] = [
      [i32[Header.version]!, i32[Header.staticBytes]!],
      [layoutVersion, options.staticBytes],
    ]
    const isOther = found.some((value, i) => value !== own[i])
    if (!isOther && !wellFormed(i32, sizeBytes)) return replaceDamaged(file, inode)
    // In another layout attachments may lie elsewhere, and in another namespace the numbers of processes mean nothing here: only the
    // kernel knows whether any of them lives.
    if (isOther || usedElsewhere(i32)) {
      if (!everUnused(buffer)) throw isOther ? ofOtherVersion(name, file, found, own) : ofOtherContainer(name)
      if (Atomics.compareExchange(i32, Header.state, ready, retired) === ready) unlinkShared(file, inode)
      return null
    }
    // All processes that used it are gone without cleaning up.
    if (!anyoneAlive(i32)) {
      if (markUsed(buffer)) retire(i32, file, inode)
      return null
    }
    if (!markUsed(buffer)) return null
    const segment = new Segment(name, inode, buffer, wasm ?? undefined)
    if (Atomics.load(i32, Header.state) === ready) return segment
    Atomics.store(i32, attachmentWord(segment.me) + Attachment.state, attachmentState.free)
    return null
  }

  /** Removes a named segment whose users are all gone; true if it did. */
  static removeStale(name: string): boolean {
    const file = segmentFile(name)
    const { buffer, inode, sizeBytes } = mapHead(file, () => headBytes)
    try {
      const i32 = wordsOf(buffer, sizeBytes)
      if (i32 === null) return false
      if (isTransient(i32)) return unlinkUnused(buffer, file, inode)
      if (!isOurs(i32, sizeBytes) || usedElsewhere(i32) || anyoneAlive(i32)) return false
      return markUsed(buffer) && retire(i32, file, inode)
    } finally {
      unmap(buffer)
    }
  }

  /**
   * Reads the first `headBytes` of the tables of a named segment that is in use, without joining it; null if there is none with tables
   * of `staticBytes`. `tables` is their first word.
   */
  static peek<T>(
    name: string,
    staticBytes: number,
    headBytes: number,
    read: (i32: Int32Array, tables: number) => T,
  ): T | null {
    const { buffer, sizeBytes } = mapHead(segmentFile(name), (size) => staticStartOf(size) + headBytes)
    try {
      const i32 = wordsOf(buffer, sizeBytes)
      if (i32 === null || !isOurs(i32, sizeBytes) || i32[Header.staticBytes] !== staticBytes) return null
      if (usedElsewhere(i32) || !anyoneAlive(i32)) return null
      return read(i32, i32[Header.staticStart]! / 4)
    } finally {
      unmap(buffer)
    }
  }

  // --- attachments -------------------------------------------------------------------------------------------------

  /** Marks this thread as dead when it stops for good. */
  #endWhenStopped(): void {
    const { i32, lockValue } = this
    const a = attachmentWord(this.me)
    whenStopped(() => {
      if (Atomics.load(i32, a + Attachment.state) === lockValue) Atomics.store(i32, a + Attachment.stopped, 1)
    })
  }

  /**
   * Runs no further if another thread has taken over what this one has: the main thread of a process that ends does so
   * with all threads of the process, which run on for a moment. Under a lock, since they are taken over under one.
   */
  stopIfTakenOver(lock: number): void {
    if (
      isMainThread ||
      this.#left ||
      Atomics.load(this.i32, attachmentWord(this.me) + Attachment.state) === this.lockValue
    )
      return
    this.unlock(lock)
    stopForGood()
  }

  /** Gives an attachment's number and memory back. The layer above has cleaned its tables before. */
  release(id: number): void {
    const { i32, name } = this
    if (id === this.me) this.#left = true
    this.#freeRunsOf(id)
    // They would keep sockets, and this record from threads of other processes.
    this.#endPollRequestsOf(id)
    Atomics.store(i32, attachmentWord(id) + Attachment.state, attachmentState.free)
    if (name !== null) retire(i32, segmentFile(name), this.inode)
  }

  // --- operations and grace periods --------------------------------------------------------------------------------
  //
  // What a thread knows of shared objects (keys, peers, rings) it may remember for as long as the epoch stays the same.
  // A thread that changes or destroys such an object bumps the epoch and then, before memory is used again, waits in `quiesce`
  // for the operations that may have looked before. An operation therefore is: enter, a full barrier, read the epoch,
  // work, leave. It takes only locks whose holders never call `quiesce`.
  //
  // Where the kernel can make all threads of the process, or of all processes of a named segment, pass a barrier
  // (membarrier), the frequent side needs none of its own: `quiesce`, the rare side, makes them.

  /**
   * Returns true if an operation may read the epoch right after entering, without a full barrier of its own: not on processors that reorder
   * stores. Threads of one process are registered together; in a named segment each process registers before it enters so, since barriers
   * reach it only then, and one that cannot register keeps its own barrier.
   */
  entersFreely(): boolean {
    const i32 = this.i32
    if (this.#registered || (this.#shared && Atomics.load(i32, Header.freeEntry) === 1)) return true
    if (!processorOrders || !registerMembarrier(this.#barrierScope)) return false
    this.#registered = true
    // A full barrier: every operation after this sees the epoch of a thread that bumped it before and did not see this.
    Atomics.store(i32, Header.freeEntry, 1)
    return true
  }

  /** The word to compare; it changes with every change of an object. */
  get epochWord(): number {
    return Header.epoch
  }

  /** The word to make odd on entering and even on leaving, for code that writes `enter` and `leave` out. */
  get operationWord(): number {
    return this.#operation
  }

  /** Makes everything that threads remember of shared objects void. */
  bumpEpoch(): void {
    Atomics.add(this.i32, Header.epoch, 1)
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
    // Without atomics of one instruction the store of that may come after plain loads; not after what follows an atomic load.
    if (!processorOrders) Atomics.load(this.i32, this.#operation)
  }

  leave(): void {
    const i32 = this.i32
    if (processorOrders) i32[this.#operation] = (i32[this.#operation]! + 1) | 0
    else Atomics.add(i32, this.#operation, 1)
  }

  /** Waits until every operation that was in progress when it was called has ended, as RCU's synchronize does. */
  quiesce(): void {
    const i32 = this.i32
    this.#barrier()
    // Atomic: a thread that has just attached itself, and saw the epoch before it was bumped, is seen.
    for (let id = 1; id <= Atomics.load(i32, Header.attachmentsHigh); id++) {
      const a = attachmentWord(id)
      if (id === this.me || !isUse(Atomics.load(i32, a + Attachment.state))) continue
      const sequence = Atomics.load(i32, a + Attachment.operation)
      if ((sequence & 1) === 0) continue
      for (let spins = 0; Atomics.load(i32, a + Attachment.operation) === sequence; spins++) {
        if (spins > 2000) {
          if (spins % 64 === 0 && !this.attachmentAlive(id)) break
          sleepMs(0.05)
        }
      }
    }
  }

  /** Makes every thread that may be in an operation pass a full barrier. */
  #barrier(): void {
    const i32 = this.i32
    // In a thread without native functions: the time in which every processor has written its stores.
    if (
      Atomics.load(i32, Header.freeEntry) === 1 &&
      Atomics.load(i32, Header.attachmentsHigh) > 1 &&
      !membarrier(this.#barrierScope)
    )
      sleepMs(1)
  }

  /**
   * The same without waiting: notes which operations are in progress. There is one such grace period at a time in a segment; the lock that
   * guards it is the caller's. Any thread of any process may call `graceOver`.
   */
  beginGrace(): void {
    const i32 = this.i32
    this.#barrier()
    for (let id = 1; id <= Atomics.load(i32, Header.attachmentsHigh); id++) {
      const a = attachmentWord(id)
      const used = id !== this.me && isUse(Atomics.load(i32, a + Attachment.state))
      const sequence = used ? Atomics.load(i32, a + Attachment.operation) : 0
      i32[a + Attachment.grace] = (sequence & 1) === 1 ? sequence : 0
    }
  }

  /** Returns true if the operations that `beginGrace` found have ended; with `doubts` those of dead threads count as ended. */
  graceOver(doubts: boolean): boolean {
    const i32 = this.i32
    for (let id = 1; id <= Atomics.load(i32, Header.attachmentsHigh); id++) {
      const a = attachmentWord(id)
      const sequence = i32[a + Attachment.grace]!
      if (sequence === 0) continue
      const ended =
        !isUse(Atomics.load(i32, a + Attachment.state)) || Atomics.load(i32, a + Attachment.operation) !== sequence
      if (!ended && !(doubts && !this.attachmentAlive(id))) return false
      i32[a + Attachment.grace] = 0
    }
    return true
  }

  // --- locks -------------------------------------------------------------------------------------------------------

  lock(word: number): void {
    if (Atomics.compareExchange(this.i32, word, 0, this.lockValue) !== 0) this.#lockSlow(word)
  }

  /** Takes a lock that no thread has; returns true if it did. */
  tryLock(word: number): boolean {
    return Atomics.compareExchange(this.i32, word, 0, this.lockValue) === 0
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
    // Without a limit: as long as its owner lives, the owner alone changes what the lock protects. A stopped process (by a signal, a
    // debugger, or with its container) does not justify breaking its data, nor does an error in the middle of an operation.
    for (;;) {
      const owner = Atomics.compareExchange(i32, word, 0, lockValue)
      if (owner === 0) return
      if (owner === lockValue)
        throw new SegmentError(
          'ETIMEDOUT',
          `lock ${word} is held by this thread already: an operation was interrupted in its middle`,
        )
      if (!this.ownerAlive(owner) && Atomics.compareExchange(i32, word, owner, lockValue) === owner) return
      sleepMs(0.05)
    }
  }

  /**
   * Takes a lock and gives it back, unless a living thread has it: then false. A thread that takes it afterwards sees all earlier stores; a
   * mere check that it was free would not guarantee that.
   */
  passLock(word: number): boolean {
    const { i32, lockValue } = this
    const owner = Atomics.compareExchange(i32, word, 0, lockValue)
    if (owner !== 0) {
      if (owner === lockValue || this.ownerAlive(owner)) return false
      if (Atomics.compareExchange(i32, word, owner, lockValue) !== owner) return false
    }
    this.unlock(word)
    return true
  }

  /** Takes a lock away from a thread that ended while it had it. */
  releaseDead(word: number): void {
    const owner = Atomics.load(this.i32, word)
    if (owner !== 0 && !this.ownerAlive(owner)) Atomics.compareExchange(this.i32, word, owner, 0)
  }

  /** Takes a lock over from a thread that ended while it had it; returns true if this thread has it now. */
  takeFromDead(word: number): boolean {
    const owner = Atomics.load(this.i32, word)
    if (owner === 0 || owner === this.lockValue || this.ownerAlive(owner)) return false
    return Atomics.compareExchange(this.i32, word, owner, this.lockValue) === owner
  }

  /** The lock for creating, changing and destroying objects. */
  get controlLock(): number {
    return Header.controlLock
  }

  /** Orders this thread's earlier loads before the atomic loads that follow: an atomic load alone does not wait for them. */
  fence(): void {
    if (!processorOrders) Atomics.store(this.i32, attachmentWord(this.me) + Attachment.fence, 0)
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

  /**
   * Blocks until the word has a value for which `isSo` returns true, which is called whenever the word has changed, and every `lookMs`; at
   * most `patienceMs`. Returns true if it became so.
   */
  waitUntil(word: number, isSo: (value: number) => boolean, patienceMs: number, lookMs: number): boolean {
    const end = performance.now() + patienceMs
    for (;;) {
      const value = Atomics.load(this.i32, word)
      if (isSo(value)) return true
      const left = end - performance.now()
      if (left <= 0) return false
      this.wait(word, value, Math.min(left, untilLook(lookMs)))
    }
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

  /** Parking of this thread, by which it waits and other threads wake it. */
  get parking(): Parking {
    this.#parking ??= new Parking(this)
    return this.#parking
  }

  /** Wakes the thread with this attachment if it waits by its `parking`. What it waits for must have changed before. */
  wake(attachment: number): void {
    this.parking.wake(attachment)
  }

  /** Wakes all other janitors: whose ends they have to notice has changed, or how they can. */
  wakeJanitors(): void {
    Atomics.add(this.i32, Header.janitors, 1)
    for (const use of this.otherJanitors()) {
      this.wake(use & ownerMask)
      this.parking.wakeLoop(use & ownerMask)
    }
  }

  /** Wakes the thread that holds a lock. */
  wakeOwner(lock: number): void {
    this.wakeThread(Atomics.load(this.i32, lock))
  }

  /** Wakes the thread with this `lockValue`, if it is one. */
  wakeThread(lockValue: number): void {
    if (lockValue !== 0) this.wake(lockValue & ownerMask)
  }

  /**
   * Ends the poll requests of threads of this process for sockets, in this segment, and wakes the threads to make them anew. Other
   * processes do that for their own descriptors of the same sockets.
   */
  endPollRequests(): void {
    for (let id = 1; id <= this.i32[Header.attachmentsHigh]!; id++) if (this.#endPollRequestsOf(id)) this.wake(id)
  }

  /** Ends the poll requests of an attachment; returns true if there were any. */
  #endPollRequestsOf(id: number): boolean {
    const context = pollContextOf(this.f64, id)
    if (context.f64[context.index] === 0 || !this.isOwn(id)) return false
    destroyPollContext(context)
    return true
  }

  notify(word: number): void {
    if (this.#shared) {
      if (watchesHeld) lookAtHeld('notify')
      Atomics.notify(this.i32, word)
    } else futexWake(this.buffer as ArrayBuffer, word * 4, 0x7fffffff)
  }

  // --- pages -------------------------------------------------------------------------------------------------------

  /** Allocates whole pages, zeroed; the byte offset. Throws `SegmentError` (ENOMEM). */
  allocate(bytes: number, owner: number = this.me): number {
    const pages = Math.max(1, Math.ceil(bytes / pageBytes))
    if (pages > this.i32[Header.pages]!)
      throw new SegmentError('ENOMEM', `${bytes} bytes are more than one allocation can have`)
    const dirty: number[] = []
    let at = -1
    this.lock(Header.pagesLock)
    try {
      at = this.#pages.allocate(pages, owner, dirty)
    } catch (error) {
      throw outOfMemory(error, `${pages * pageBytes} bytes could not be allocated`)
    } finally {
      this.unlock(Header.pagesLock)
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
    this.lock(Header.pagesLock)
    try {
      this.#pages.free(byteOffset / pageBytes)
    } finally {
      this.unlock(Header.pagesLock)
    }
  }

  /** Takes memory from its owner, for `freeRetired`: it no longer ends with the thread that has it now. Returns the number of bytes. */
  retireMemory(byteOffset: number): number {
    const bytes = this.allocatedBytes(byteOffset)
    if (bytes > 0) this.#pages.give(byteOffset / pageBytes, graveOwner)
    return bytes
  }

  /** Frees memory that `retireMemory` took; other memory stays as it is. */
  freeRetired(byteOffsets: Iterable<number>): void {
    this.lock(Header.pagesLock)
    try {
      for (const at of byteOffsets)
        if (at % pageBytes === 0 && this.#pages.isOf(at / pageBytes, graveOwner)) this.#pages.free(at / pageBytes)
    } finally {
      this.unlock(Header.pagesLock)
    }
  }

  /** Returns the memory that `retireMemory` took and that is not freed yet. */
  retiredMemory(): number[] {
    return Array.from(this.#pages.runsOf(graveOwner), (page) => page * pageBytes)
  }

  /** Bytes of the run that starts here, 0 if none does. */
  allocatedBytes(byteOffset: number): number {
    return byteOffset % pageBytes === 0 ? this.#pages.length(byteOffset / pageBytes) * pageBytes : 0
  }

  /** Ensures that a part of the tables has memory, before the first write to it. Throws `SegmentError` (ENOMEM). */
  commit(byteOffset: number, lengthBytes: number): void {
    if (this.#shared) return
    const [first, end] = pagesFor(byteOffset, lengthBytes)
    if (this.#pages.committed(first, end)) return
    this.lock(Header.pagesLock)
    try {
      this.#pages.commit(first, end)
    } catch (error) {
      throw outOfMemory(error, 'a table cannot grow')
    } finally {
      this.unlock(Header.pagesLock)
    }
  }

  #freeRunsOf(id: number): void {
    this.lock(Header.pagesLock)
    try {
      this.#pages.freeAllOf(id)
    } finally {
      this.unlock(Header.pagesLock)
    }
  }
}
