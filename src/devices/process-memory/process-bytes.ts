/**
 * Bytes of other processes, as devices copy them. A place is a number, and the process that it is in: a place in the segment is a
 * byte offset of process 0, one elsewhere an address as `inProcess` has it. Copies between two processes go through scratch memory of the
 * segment.
 *
 * A copy fails where the memory is not mapped any more, or its process is gone; then it tells which side that was.
 */
import { closeSync, openSync } from 'node:fs'
import { isImageThere, ProcessVm, processorOrders } from '../../memory/index.ts'
import { type Host, layout, ProcessRegions, processAddress, VerbsError } from '../../verbs/provider/index.ts'

const { Meta } = layout

/** Outcome of a copy: the bytes that were to be read, or written, are not there. */
export const noFault = 0
export const sourceFault = 1
export const targetFault = 2

/** Messages of so many bytes are fetched before anything else happens, so that a fault there leaves no trace at the receiver. */
export const stagedBytes = 65_536
/** Longer copies are made in parts, for the kernel makes less than 2 GiB at a time. */
const partBytes = 2 ** 30
/** And those between two processes, whose parts are to stay in the processor's cache: 1 MiB takes 213 µs by 64 KiB, 173 by 256, no less by more. */
const betweenBytes = 2 ** 18

/** Behind `word`, which may be what is copied. */
const barrierWord = 8

const EPERM = 1
const ESRCH = 3

/** What a process has executed: regions are of an image, not of the number that the next one has, too. */
interface Image {
  readonly pid: number
  /** /proc/PID/mem, which stays with the image. */
  readonly memory: number
  /** The burst in which it was there. */
  burst: number
}

export class ProcessBytes {
  readonly #host: Host
  readonly #regions: ProcessRegions
  #vm: ProcessVm | null = null
  /** By the number that regions have; none is used twice. */
  readonly #images = new Map<number, Image>()
  #lastImage = 0
  /** Number of the burst that goes on, 0 if none does. */
  #burst = 0
  #bursts = 0
  /** The process of the range that `resolve` found last. */
  pid = 0
  /** Whether what failed last, a `resolve` or a copy, did since the process has ended, or executes another program. */
  isGone = false
  /** Where messages are staged, and parts of copies between processes: `betweenBytes`; 0 before `reach`. */
  stage = 0
  /** 16 bytes behind it. */
  word = 0
  /** `stagedBytes` behind these, for who collects what it writes. */
  collected = 0

  constructor(host: Host) {
    this.#host = host
    this.#regions = new ProcessRegions(host)
  }

  /** Prepares this thread, and tries whether it may touch that memory; as `Device.reachProcess`. */
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

  /** The number of the image that a process has now. Those that have gone are forgotten. */
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
   * For a range to which `Host.resolve` gave a negative answer: its place, and `pid`; −1 if it is forbidden, or of an image that has gone,
   * in whose place there may be another one with the same addresses.
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

  /** Whether a process still has the image to which places in it belong: it has another one before `reach` knows of that. */
  isThere(pid: number): boolean {
    for (const image of this.#images.values()) {
      if (image.pid !== pid) continue
      this.isGone = !isImageThere(image.memory)
      // Not even until the burst ends.
      if (this.isGone) image.burst = 0
      return !this.isGone
    }
    this.isGone = true
    return false
  }

  /** What a copy ends with. A process whose first thread has ended is out of reach for good, and its image with it. */
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

  /** Until `endBurst`, in a moment, whether an image is still there is asked once. */
  beginBurst(): void {
    this.#burst = ++this.#bursts
  }

  endBurst(): void {
    this.#burst = 0
  }

  /** Copies bytes from one place to another. */
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

  /** Copies a list of places of one process to one place of the segment; together less than 2 GiB. */
  fetch(to: number, from: Float64Array, lengths: Float64Array, count: number, pid: number, total: number): number {
    const vm = this.#vm!
    vm.clear()
    vm.addHere(to, total)
    for (let i = 0; i < count; i++) vm.addThere(processAddress(from[i]!), lengths[i]!)
    return this.#outcome(vm.read(pid), pid, sourceFault)
  }

  /** Copies a list of places of the segment to a list of one process, both together as long, less than 2 GiB. */
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

  /** Copies one place of the segment to one of a process, the naturally aligned word that ends it after all else. */
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
   * CMP_AND_SWP, or FETCH_AND_ADD, of the eight bytes at a place of a process. No other thread of the segment does so meanwhile; the process
   * itself may. Afterwards the value before is at `word`.
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
