/**
 * The bytes of a request as lists of ranges in the segment: a scatter/gather list goes in, every element is checked against its key, and
 * the resulting ranges are copied, list to range, range to list, or list to list.
 *
 * A range may also lie in another process (devices/process-memory). A list indicates whether it has such ranges, and then the process of
 * each of its ranges; copies that meet them can fail, and return `noFault` or the side whose bytes were not there.
 *
 * There is one object of these for all requests of a thread: a list holds until the next request resolves its own.
 */
import { type Host, isOthers, layout, SendFlag, stageOf } from '../../verbs/provider/index.ts'
import { noFault, type ProcessBytes, stagedBytes, tailBytes } from '../process-memory/index.ts'

const { Qp, Sg, Wqe } = layout

/** Maximum number of ranges: more than `maxSge` of the device, since a GRH may come first. */
const maxRanges = 64

/** Maximum length of lists, together, that are copied by one system call where that is possible. */
const oneCallBytes = 2 ** 30

export class Ranges {
  readonly #host: Host
  readonly #copy: (dst: number, src: number, length: number) => void
  readonly #copyOrdered: (dst: number, src: number, length: number) => void

  /** Ranges of the requester: the source, except for the bytes that a READ or atomic brings back. */
  readonly from: Float64Array = new Float64Array(maxRanges)
  readonly fromLength: Float64Array = new Float64Array(maxRanges)
  fromCount = 0
  /** Ranges of the receive that a message fills. */
  readonly to: Float64Array = new Float64Array(maxRanges)
  readonly toLength: Float64Array = new Float64Array(maxRanges)
  toCount = 0
  /** True if any range of `from`, or of `to`, is in another process; then the process of each range, 0 for the segment. */
  fromAway = false
  toAway = false
  readonly fromPid: Int32Array = new Int32Array(maxRanges)
  readonly toPid: Int32Array = new Int32Array(maxRanges)
  /** Process of the range that `remoteAway` found. */
  remotePid = 0
  readonly #processes: ProcessBytes

  constructor(host: Host, processes: ProcessBytes) {
    this.#host = host
    this.#processes = processes
    this.#copy = host.segment.copy
    this.#copyOrdered = host.segment.copyOrdered
  }

  /**
   * Resolves the request's data to `from` (or, for data that comes back, with LocalWrite); returns its length, or −1 for a protection
   * error. Data to be sent that lies in other processes is in the segment then, unless it is long.
   */
  gather(q: number, w: number, access: number): number {
    const host = this.#host
    const { i32, f64 } = host
    const { from, fromLength } = this
    this.fromAway = false
    this.#processes.isGone = false
    if ((i32[w + Wqe.flags]! & SendFlag.Inline) !== 0) {
      const length = i32[w + Wqe.inlineLength]!
      from[0] = (w + Wqe.data) * 4
      fromLength[0] = length
      this.fromCount = 1
      return length
    }
    // Its owner has staged the memory that only the owner reaches: see hand-over.ts.
    if (isOthers(host, q)) {
      from[0] = stageOf(host, q)
      fromLength[0] = i32[q + Qp.staged]!
      this.fromCount = fromLength[0] > 0 ? 1 : 0
      return fromLength[0]
    }
    const pd = i32[q + Qp.pd]!
    const sges = i32[w + Wqe.sges]!
    let total = 0
    let count = 0
    for (let i = 0, s = w + Wqe.data; i < sges; i++, s += Sg.words) {
      const length = i32[s + Sg.length]!
      if (length === 0) continue
      let at = host.resolve(i32[s + Sg.lkey]!, pd, f64[s >> 1]!, length, access, -1)
      if (at < 0) {
        at = this.#processes.resolve(i32[s + Sg.lkey]!, pd, f64[s >> 1]!, length, access, -1)
        if (at === -1) return -1
        if (!this.fromAway) this.fromPid.fill(0)
        this.fromAway = true
        this.fromPid[count] = this.#processes.pid
      } else if (this.fromAway) this.fromPid[count] = 0
      from[count] = at
      fromLength[count] = length
      count++
      total += length
    }
    this.fromCount = count
    return this.fromAway && access === 0 && total <= stagedBytes ? this.#stage(total) : total
  }

  /** Fetches the data to be sent; returns its length, or −1 if it is not there. */
  #stage(total: number): number {
    const { from, fromLength, fromCount } = this
    const { stage } = this.#processes
    const pid = onlyPid(this.fromPid, fromCount)
    const fault =
      pid > 0
        ? this.#processes.fetch(stage, from, fromLength, fromCount, pid, total)
        : this.#copyFrom(0, total, stage, 0)
    if (fault !== noFault) return -1
    from[0] = stage
    fromLength[0] = total
    this.fromCount = 1
    this.fromAway = false
    return total
  }

  /** Puts range `count` of the receive that a message fills into `to`; false if access is forbidden. */
  addTo(count: number, key: number, pd: number, addr: number, length: number, access: number): boolean {
    let at = this.#host.resolve(key, pd, addr, length, access, -1)
    if (at < 0) {
      at = this.#processes.resolve(key, pd, addr, length, access, -1)
      if (at === -1) return false
      if (!this.toAway) this.toPid.fill(0)
      this.toAway = true
      this.toPid[count] = this.#processes.pid
    } else if (this.toAway) this.toPid[count] = 0
    this.to[count] = at
    this.toLength[count] = length
    return true
  }

  /**
   * Returns the location of the remote range of a one-sided request at `w`, for which `remoteRange` returned `at`, and sets `remotePid`
   * to its process; −1 if the peer `d` does not permit it.
   */
  remoteAway(w: number, d: number, length: number, access: number, at: number): number {
    this.remotePid = 0
    if (at >= 0) return at
    const { i32, f64 } = this.#host
    const addr = f64[(w + Wqe.remoteAddr) >> 1]!
    const pd = i32[d + Qp.pd]!
    const found = this.#processes.resolve(i32[w + Wqe.rkey]!, pd, addr, length, access, this.#host.qpSlot(d))
    if (found < -1) this.remotePid = this.#processes.pid
    return found
  }

  /** True if memory that the current request has not found, or not copied, is not there because its process has ended. */
  get isGone(): boolean {
    return this.#processes.isGone
  }

  /** Copies `from` to one range; ordered, so that its last byte appears last. */
  copyTo(to: number): void {
    const { from, fromLength } = this
    const last = this.fromCount - 1
    for (let i = 0; i < last; i++) {
      this.#copy(to, from[i]!, fromLength[i]!)
      to += fromLength[i]!
    }
    if (last >= 0) this.#copyOrdered(to, from[last]!, fromLength[last]!)
  }

  /** Does the same where either side lies in another process, the target unless `pid` is 0. */
  copyToAway(to: number, pid: number): number {
    const processes = this.#processes
    const { from, fromLength, fromCount } = this
    let total = 0
    for (let i = 0; i < fromCount; i++) total += fromLength[i]!
    if (total === 0) return noFault
    if (fromCount === 1 && !this.fromAway && total < oneCallBytes)
      return processes.deliverOrdered(to, pid, from[0]!, total)
    const tail = tailBytes(to + total, total)
    let fault = this.#copyFrom(0, total - tail, to, pid)
    if (fault === noFault) fault = this.#copyFrom(total - tail, tail, processes.word, 0)
    if (fault !== noFault) return fault
    if (pid !== 0) return processes.deliverOrdered(to + total - tail, pid, processes.word, tail)
    this.#copyOrdered(to + total - tail, processes.word, tail)
    return noFault
  }

  /** Copies `length` bytes of `from`, after the first `skip`, to one range. */
  #copyFrom(skip: number, length: number, to: number, pid: number): number {
    const { from, fromLength, fromPid, fromCount } = this
    let fault = noFault
    for (let i = 0; i < fromCount && length > 0 && fault === noFault; i++) {
      const here = fromLength[i]!
      if (skip >= here) {
        skip -= here
        continue
      }
      const piece = Math.min(here - skip, length)
      fault = this.#processes.move(to, pid, from[i]! + skip, this.fromAway ? fromPid[i]! : 0, piece)
      to += piece
      length -= piece
      skip = 0
    }
    return fault
  }

  /** Returns the location where the first `length` bytes of `from` are contiguous: in place, or copied to `scratch`. */
  peek(scratch: number, length: number): number {
    const { from, fromLength } = this
    if (this.fromCount === 1) return from[0]!
    for (let i = 0, at = scratch, left = length; i < this.fromCount && left > 0; i++) {
      const piece = Math.min(left, fromLength[i]!)
      this.#copy(at, from[i]!, piece)
      at += piece
      left -= piece
    }
    return scratch
  }

  /** Copies one range into the request's own buffers, which `gather` has resolved to `from`. */
  copyBack(source: number, length: number): void {
    const { from, fromLength, fromCount } = this
    for (let i = 0; i < fromCount && length > 0; i++) {
      const piece = Math.min(length, fromLength[i]!)
      this.#copy(from[i]!, source, piece)
      source += piece
      length -= piece
    }
  }

  /** Does the same where either side lies in another process, the range unless `pid` is 0. */
  copyBackAway(source: number, pid: number, length: number): number {
    const { from, fromLength, fromPid, fromCount } = this
    let fault = noFault
    for (let i = 0; i < fromCount && length > 0 && fault === noFault; i++) {
      const piece = Math.min(length, fromLength[i]!)
      fault = this.#processes.move(from[i]!, this.fromAway ? fromPid[i]! : 0, source, pid, piece)
      source += piece
      length -= piece
    }
    return fault
  }

  /** Copies `from` to `to`, both lists. */
  copyLists(): void {
    const { from, fromLength, fromCount, to, toLength } = this
    if (fromCount === 1 && this.toCount === 1) {
      this.#copy(to[0]!, from[0]!, fromLength[0]!)
      return
    }
    let t = 0
    let into = 0
    for (let f = 0; f < fromCount; f++) {
      let done = 0
      const length = fromLength[f]!
      while (done < length) {
        const room = toLength[t]! - into
        const piece = Math.min(length - done, room)
        this.#copy(to[t]! + into, from[f]! + done, piece)
        done += piece
        into += piece
        if (piece === room) {
          t++
          into = 0
        }
      }
    }
  }

  /** Does the same where a list has ranges in other processes. */
  copyListsAway(): number {
    const { from, fromLength, fromCount, to, toLength, toPid, toCount } = this
    const processes = this.#processes
    const pid = this.toAway ? onlyPid(toPid, toCount) : 0
    if (!this.fromAway && pid > 0) {
      let total = 0
      for (let i = 0; i < fromCount; i++) total += fromLength[i]!
      if (total < oneCallBytes) return processes.deliver(to, toLength, toCount, pid, from, fromLength, fromCount)
    }
    let done = 0
    for (let t = 0; t < toCount; t++) {
      const fault = this.#copyFrom(done, toLength[t]!, to[t]!, this.toAway ? toPid[t]! : 0)
      if (fault !== noFault) return fault
      done += toLength[t]!
    }
    return noFault
  }

  /** Puts a range before the existing ranges of `from`. */
  prepend(at: number, length: number): void {
    const { from, fromLength } = this
    for (let i = this.fromCount; i > 0; i--) {
      from[i] = from[i - 1]!
      fromLength[i] = fromLength[i - 1]!
    }
    from[0] = at
    fromLength[0] = length
    this.fromCount++
  }

  /** Removes the range that `prepend` added. */
  dropFirst(): void {
    const { from, fromLength } = this
    this.fromCount--
    for (let i = 0; i < this.fromCount; i++) {
      from[i] = from[i + 1]!
      fromLength[i] = fromLength[i + 1]!
    }
  }
}

/** Returns the process that all ranges are in, −1 if they are in several, or any is in the segment. */
function onlyPid(pids: Int32Array, count: number): number {
  const pid = pids[0]!
  for (let i = 1; i < count; i++) if (pids[i] !== pid) return -1
  return pid > 0 ? pid : -1
}
