/**
 * Bytes of other processes, as devices copy them. A location is a number and the process that it is in: a location in the segment is a
 * byte offset with process 0, one in another process an address as `inProcess` returns it. Copies between two processes go through
 * scratch memory of the segment.
 *
 * A copy fails if the memory is no longer mapped, or its process has ended; its outcome indicates which side that was.
 */
import { closeSync, openSync } from 'node:fs'
import { isImageThere, ProcessVm, processorOrders } from '../../memory/index.ts'
import { type Host, layout, ProcessRegions, processAddress, VerbsError } from '../../verbs/provider/index.ts'

const { Meta } = layout

/** Outcome of a copy: success, or the side whose bytes are not there. */
export const noFault = 0
export const sourceFault = 1
export const targetFault = 2

/** Maximum length of a message that is fetched before anything else happens, so that a fault there leaves no trace at the receiver. */
export const stagedBytes = 65_536
/** Bytes of one part of a longer copy: the kernel copies less than 2 GiB per call. */
const partBytes = 2 ** 30
/**
 * Bytes of one part of a copy between two processes, which is to stay in the processor's cache: 1 MiB takes 213 µs by 64 KiB, 173 by 256,
 * no less by more.
 */
const betweenBytes = 2 ** 18

/** Offset of the barrier's word from `word`, after what may be copied. */
const barrierWord = 8

const EPERM = 1
const ESRCH = 3

/** Program that a process executes: regions belong to an image, not to the pid, which the next image has as well. */
interface Image {
  readonly pid: number
  /** Descriptor of /proc/PID/mem, which stays with the image. */
  readonly memory: number
  /** Burst in which the image was last found to be there. */
  burst: number
}

export class ProcessBytes {
  readonly #host: Host
  readonly #regions: ProcessRegions
  #vm: ProcessVm | null = null
  /** Images by the number that regions have; no number is reused. */
  readonly #images = new Map<number, Image>()
  #lastImage = 0
  /** Number of the current burst, 0 if there is none. */
  #burst = 0
  #bursts = 0
  /** Process of the range that `resolve` found last. */
  pid = 0
  /** True if the last failure, of `resolve` or of a copy, was due to the end of the process, or because it executes another program. */
  isGone = false
  /** Location where messages, and parts of copies between processes, are staged: `betweenBytes`; 0 before `reach`. */
  stage = 0
  /** Location of 16 bytes after the stage. */
  word = 0
  /** Location of `stagedBytes` after these, for code that collects its writes. */
  collected = 0

  constructor(host: Host) {
    this.#host = host
    this.#regions = new ProcessRegions(host)
  }

  /** Prepares this thread, and tests whether it may access that memory; as `Device.reachProcess`. */
  reach(verb: string, pid: number, address: number, length: number): number {
    const { segment } = this.#host
    if (this.#vm === null) {
      this.stage = this.#host.allocate(betweenBytes + 64 + stagedBytes, verb)
      this.word = this.stage + betweenBytes
      this.collected = this.word + 64
      this.#vm = new ProcessVm(segment.buffer)
    }
    const vm = this.#vm
    if (length === 0) return this.#imageOf(verb, pid)
    for (const at of [address, address + length - 1]) {
      vm.clear()
      vm.addHere(this.word, 1)
      vm.addThere(at, 1)
      const errno = vm.read(pid)
      if (errno === 0) continue
      if (errno === EPERM)
        throw new VerbsError('EPERM', verb, `the kernel does not let this process read the memory of process ${pid}`)
      throw new VerbsError(
        'EINVAL',
        verb,
        errno === ESRCH ? `there is no process ${pid}` : `process ${pid} has no memory at 0x${at.toString(16)}`,
      )
    }
    return this.#imageOf(verb, pid)
  }

  /** Returns the number of the current image of a process. Images that have gone are forgotten. */
  #imageOf(verb: string, pid: number): number {
    let found = 0
    for (const [number, image] of this.#images) {
      if (!isImageThere(image.memory)) this.#forget(number, image)
      else if (image.pid === pid) found = number
    }
    if (found !== 0) return found
    try {
      this.#images.set(++this.#lastImage, { pid, memory: openSync(`/proc/${pid}/mem`, 'r'), burst: 0 })
    } catch (error) {
      throw new VerbsError('EPERM', verb, `process ${pid} cannot be told from others: ${(error as Error).message}`)
    }
    return this.#lastImage
  }

  /**
   * Returns the location of a range for which `Host.resolve` returned a negative value, and sets `pid`; −1 if access is forbidden, or the
   * range belongs to an image that has gone, which another one with the same addresses may have replaced.
   */
  resolve(key: number, pd: number, addr: number, length: number, access: number, qp: number): number {
    this.pid = 0
    this.isGone = false
    if (this.#vm === null) return -1
    const at = this.#regions.resolve(key, pd, addr, length, access, qp)
    if (at >= -1) return at
    const image = this.#images.get(this.#regions.process)
    this.isGone = image === undefined || !this.#isThere(image)
    if (image === undefined || this.isGone) return -1
    this.pid = image.pid
    return at
  }

  #isThere(image: Image): boolean {
    if (this.#burst !== 0 && image.burst === this.#burst) return true
    if (!isImageThere(image.memory)) return false
    image.burst = this.#burst
    return true
  }

  /** True if a process still has the image to which locations in it belong: it may have another one before `reach` learns of that. */
  isThere(pid: number): boolean {
    for (const image of this.#images.values()) {
      if (image.pid !== pid) continue
      this.isGone = !isImageThere(image.memory)
      // The cached answer does not last until the burst ends.
      if (this.isGone) image.burst = 0
      return !this.isGone
    }
    this.isGone = true
    return false
  }

  /** Returns the outcome of a copy. A process whose first thread has ended is out of reach for good, and so is its image. */
  #outcome(errno: number, pid: number, fault: number): number {
    if (errno === 0) return noFault
    this.isGone = errno === ESRCH
    if (this.isGone) for (const [number, image] of this.#images) if (image.pid === pid) this.#forget(number, image)
    return fault
  }

  #forget(number: number, { memory }: Image): void {
    closeSync(memory)
    this.#images.delete(number)
  }

  /** Begins a burst: until `endBurst`, shortly after, each image is checked only once for being there. */
  beginBurst(): void {
    this.#burst = ++this.#bursts
  }

  endBurst(): void {
    this.#burst = 0
  }

  /** Copies bytes from one location to another. */
  move(to: number, toPid: number, from: number, fromPid: number, length: number): number {
    if (toPid === 0 && fromPid === 0) {
      this.#host.segment.copy(to, from, length)
      return noFault
    }
    const vm = this.#vm!
    const between = toPid !== 0 && fromPid !== 0
    for (let done = 0; done < length; ) {
      const part = Math.min(length - done, between ? betweenBytes : partBytes)
      if (fromPid !== 0) {
        vm.clear()
        vm.addHere(between ? this.stage : to + done, part)
        vm.addThere(processAddress(from) + done, part)
        const fault = this.#outcome(vm.read(fromPid), fromPid, sourceFault)
        if (fault !== noFault) return fault
      }
      if (toPid !== 0) {
        vm.clear()
        vm.addHere(between ? this.stage : from + done, part)
        vm.addThere(processAddress(to) + done, part)
        const fault = this.#outcome(vm.write(toPid), toPid, targetFault)
        if (fault !== noFault) return fault
      }
      done += part
    }
    return noFault
  }

  /** Copies a list of ranges of one process to one location in the segment; together less than 2 GiB. */
  fetch(to: number, from: Float64Array, lengths: Float64Array, count: number, pid: number, total: number): number {
    const vm = this.#vm!
    vm.clear()
    vm.addHere(to, total)
    for (let i = 0; i < count; i++) vm.addThere(processAddress(from[i]!), lengths[i]!)
    return this.#outcome(vm.read(pid), pid, sourceFault)
  }

  /** Copies a list of ranges of the segment to a list of ranges of one process; both have the same total length, less than 2 GiB. */
  deliver(
    to: Float64Array,
    toLengths: Float64Array,
    toCount: number,
    pid: number,
    from: Float64Array,
    fromLengths: Float64Array,
    fromCount: number,
  ): number {
    const vm = this.#vm!
    vm.clear()
    for (let i = 0; i < fromCount; i++) vm.addHere(from[i]!, fromLengths[i]!)
    for (let i = 0; i < toCount; i++) vm.addThere(processAddress(to[i]!), toLengths[i]!)
    return this.#outcome(vm.write(pid), pid, targetFault)
  }

  /** Copies one range of the segment to a process; the naturally aligned word at its end is copied after all else. */
  deliverOrdered(to: number, pid: number, from: number, length: number): number {
    const tail = tailBytes(to + length, length)
    const vm = this.#vm!
    const address = processAddress(to)
    const rest = length - tail
    vm.clear()
    vm.addHere(from, processorOrders ? length : rest)
    if (rest > 0) vm.addThere(address, rest)
    if (processorOrders) vm.addThere(address + rest, tail)
    else {
      const fault = rest > 0 ? this.#outcome(vm.write(pid), pid, targetFault) : noFault
      if (fault !== noFault) return fault
      // What the next call stores is not seen before this, and this not before what the last one stored.
      Atomics.store(this.#host.i32, this.word / 4 + barrierWord, 0)
      vm.clear()
      vm.addHere(from + rest, tail)
      vm.addThere(address + rest, tail)
    }
    return this.#outcome(vm.write(pid), pid, targetFault)
  }

  /**
   * Executes CMP_AND_SWP, or FETCH_AND_ADD, on the eight bytes at a location in a process. No other thread of the segment does so
   * meanwhile; the process itself may. Afterwards the previous value is at `word`.
   */
  atomic(at: number, pid: number, swaps: boolean, compareAdd: bigint, swap: bigint): number {
    const { segment, at: tables } = this.#host
    const { b64 } = segment
    const word = this.word / 8
    const lock = tables.meta + Meta.processAtomics
    segment.lock(lock)
    let fault = this.move(this.word, 0, at, pid, 8)
    if (fault === noFault) {
      const before = b64[word]!
      const after = swaps ? (before === compareAdd ? swap : before) : before + compareAdd
      b64[word + 1] = after
      if (after !== before) fault = this.move(at, pid, this.word + 8, 0, 8)
    }
    segment.unlock(lock)
    return fault
  }
}

/** Length of the naturally aligned word that ends a copy, which becomes visible last: see memory/copy.ts. */
export function tailBytes(end: number, length: number): number {
  for (const n of [8, 4, 2]) if (length >= n && end % n === 0) return n
  return 1
}
