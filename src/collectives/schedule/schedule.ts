/**
 * Schedule of one rank in a collective, as data: rounds of copies, sends and receives. The executor starts all
 * transfers of a round together and begins the next round when they are done, as libNBC does (Hoefler, Lumsdaine, Rehm:
 * Implementation and Performance Analysis of Non-Blocking Collective Operations for MPI, SC 2007).
 *
 * The transfers from one rank to another arrive in the order in which they were listed, so no tag is needed: the n-th send
 * to a rank meets its n-th receive from here, and both have the same length.
 */

/** Memory that contains a range. */
export const Place = {
  /** Input of the caller, never written. */
  Input: 0,
  /** Output of the caller. */
  Output: 1,
  /** Memory for intermediate results, of `Schedule.scratchBytes`. */
  Scratch: 2,
} as const
export type Place = (typeof Place)[keyof typeof Place]

/** Range of bytes that is sent to a rank or received from one. */
export interface Transfer {
  peer: number
  place: Place
  /** Bytes from the beginning of the place. */
  offset: number
  /** Bytes of the range; may be 0, if the message is only a notification. */
  bytes: number
  /**
   * Flag of a receive: the data are combined, element by element, with those at the same offset of `base`, which is `place` or the input,
   * and the result goes to `place`. The receives of a round are combined in the order of the list, so that sums of floating-point numbers
   * repeat, and after the sends of the round that use the memory that they change.
   */
  combine: boolean
  base: Place
}

/** Range of the root that is sent to all other ranks at once, to the same range there. */
export interface Multicasting {
  root: number
  place: Place
  offset: number
  bytes: number
}

/** Copy of bytes from one place to another, which does not overlap. */
export interface LocalCopy {
  from: Place
  fromOffset: number
  to: Place
  toOffset: number
  bytes: number
}

export interface Round {
  /** Copies, which are executed first, in their order. */
  copies: LocalCopy[]
  sends: Transfer[]
  receives: Transfer[]
  /** Multicast of the round, which then has no other transfers. */
  multicast?: Multicasting
}

export interface Schedule {
  rounds: Round[]
  scratchBytes: number
}

/** Builder of a schedule. Each method adds to the last round; `next` begins another one. */
export class ScheduleBuilder {
  readonly #rounds: Round[] = [{ copies: [], sends: [], receives: [] }]
  #scratchBytes = 0

  get #round(): Round {
    return this.#rounds.at(-1)!
  }

  /** Begins a round, which starts when all transfers before it are done. */
  next(): this {
    const { sends, receives } = this.#round
    if (sends.length + receives.length > 0) this.#rounds.push({ copies: [], sends: [], receives: [] })
    return this
  }

  /** Adds a copy. Copies of a round are executed before its transfers: a copy after transfers begins the next round. */
  copy(from: Place, fromOffset: number, to: Place, toOffset: number, bytes: number): this {
    if (bytes === 0) return this
    this.next().#round.copies.push({ from, fromOffset, to, toOffset, bytes })
    this.#reaches(from, fromOffset + bytes)
    this.#reaches(to, toOffset + bytes)
    return this
  }

  send(peer: number, place: Place, offset: number, bytes: number): this {
    this.#round.sends.push({ peer, place, offset, bytes, combine: false, base: place })
    this.#reaches(place, offset + bytes)
    return this
  }

  receive(peer: number, place: Place, offset: number, bytes: number): this {
    this.#round.receives.push({ peer, place, offset, bytes, combine: false, base: place })
    this.#reaches(place, offset + bytes)
    return this
  }

  /** Adds a round of its own, which all ranks have. */
  multicast(root: number, place: Place, offset: number, bytes: number): this {
    this.next().#round.multicast = { root, place, offset, bytes }
    this.#rounds.push({ copies: [], sends: [], receives: [] })
    this.#reaches(place, offset + bytes)
    return this
  }

  combine(peer: number, place: Place, offset: number, bytes: number, base: Place = place): this {
    this.#round.receives.push({ peer, place, offset, bytes, combine: true, base })
    this.#reaches(place, offset + bytes)
    return this
  }

  done(): Schedule {
    const { copies, sends, receives } = this.#round
    if (copies.length + sends.length + receives.length === 0) this.#rounds.pop()
    return { rounds: this.#rounds, scratchBytes: this.#scratchBytes }
  }

  #reaches(place: Place, end: number): void {
    if (place === Place.Scratch && end > this.#scratchBytes) this.#scratchBytes = end
  }
}

/** Collective as one rank sees it. */
export interface Task {
  rank: number
  /** Number of ranks. */
  size: number
  /**
   * Bytes of the whole data of a broadcast or a reduction; for scatter, gather, allgather and alltoall, the bytes that one rank contributes
   * for one other.
   */
  bytes: number
  /** Root of broadcast, scatter, gather and reduce. */
  root: number
  /** Bytes of an element, which reductions do not split. */
  elementBytes: number
}

/** Returns the rank's number relative to the root, which has 0. */
export function relative({ rank, size, root }: Task): number {
  return (rank - root + size) % size
}

/** Returns the rank with a relative number, which may be from -size to 2 · size. */
export function absolute({ size, root }: Task, number: number): number {
  return (number + size + root) % size
}

/** Returns the first byte of part `i` of `size` parts, which differ by one element at most. */
export function partOf({ bytes, size, elementBytes }: Task, i: number): number {
  return Math.floor((i * (bytes / elementBytes)) / size) * elementBytes
}

/** Returns the lowest bit that is set in the relative number; for 0, the first power of two that is not below `size`. */
function treeBit(number: number, size: number): number {
  if (number !== 0) return number & -number
  let bit = 1
  while (bit < size) bit *= 2
  return bit
}

/** Returns the number of ranks in the binomial subtree of a relative number, itself included. Their numbers are consecutive. */
export function subtree(number: number, size: number): number {
  return Math.min(treeBit(number, size), size - number)
}

/** Returns the children of a relative number in the binomial tree, the one with the largest subtree first. */
export function children(number: number, size: number): number[] {
  const list: number[] = []
  for (let bit = treeBit(number, size) / 2; bit >= 1; bit /= 2) if (number + bit < size) list.push(number + bit)
  return list
}

export function parent(number: number): number {
  return number & (number - 1)
}
