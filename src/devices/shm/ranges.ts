/**
 * The bytes of a request as lists of ranges in the segment: a scatter/gather list goes in, every element is checked
 * against its key, and what comes out is copied, list to range, range to list, or list to list.
 *
 * There is one object of these for all requests of a thread: a list holds until the next request resolves its own.
 */
import { type Host, layout, SendFlag } from '../../verbs/provider/index.ts'

const { Qp, Sg, Wqe } = layout

/** More than `maxSge` of the device, since a GRH may come in front. */
const maxRanges = 64

export class Ranges {
  readonly #host: Host
  readonly #copy: (dst: number, src: number, length: number) => void
  readonly #copyOrdered: (dst: number, src: number, length: number) => void

  /** The requester's own ranges: the source, except for what a READ or atomic brings back. */
  readonly from: Float64Array = new Float64Array(maxRanges)
  readonly fromLength: Float64Array = new Float64Array(maxRanges)
  fromCount = 0
  /** The ranges of the receive that a message fills. */
  readonly to: Float64Array = new Float64Array(maxRanges)
  readonly toLength: Float64Array = new Float64Array(maxRanges)
  toCount = 0

  constructor(host: Host) {
    this.#host = host
    this.#copy = host.segment.copy
    this.#copyOrdered = host.segment.copyOrdered
  }

  /** Resolves the request's data to `from` (or, for what comes back, with LocalWrite); its length, or −1 for a protection error. */
  gather(q: number, w: number, access: number): number {
    const host = this.#host
    const { i32, f64 } = host
    const { from, fromLength } = this
    if ((i32[w + Wqe.flags]! & SendFlag.Inline) !== 0) {
      const length = i32[w + Wqe.inlineLength]!
      from[0] = (w + Wqe.data) * 4
      fromLength[0] = length
      this.fromCount = 1
      return length
    }
    const pd = i32[q + Qp.pd]!
    const sges = i32[w + Wqe.sges]!
    let total = 0
    let count = 0
    for (let i = 0, s = w + Wqe.data; i < sges; i++, s += Sg.words) {
      const length = i32[s + Sg.length]!
      if (length === 0) continue
      const at = host.resolve(i32[s + Sg.lkey]!, pd, f64[s >> 1]!, length, access, -1)
      if (at < 0) return -1
      from[count] = at
      fromLength[count] = length
      count++
      total += length
    }
    this.fromCount = count
    return total
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

  /** Where the first `length` bytes of `from` are contiguous: in place, or copied to `scratch`. */
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

  /** Puts a range in front of `from`. */
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

  /** Takes away what `prepend` put there. */
  dropFirst(): void {
    const { from, fromLength } = this
    this.fromCount--
    for (let i = 0; i < this.fromCount; i++) {
      from[i] = from[i + 1]!
      fromLength[i] = fromLength[i + 1]!
    }
  }
}
