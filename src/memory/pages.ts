/**
 * The pages of a segment: which are handed out, and which the system has given memory for.
 *
 *     page table       one word for each page: at the first page of a run its length and its owner, 0 everywhere else
 *     granule table    one word for each granule of 16 pages: whether the system has given memory for it
 *
 * A run begins and ends to exist with the one store of its word in the page table. So a process that is killed between any
 * two stores leaves a usable table: `high` rises before the word is written, `hint` falls before it is cleared, and the
 * counters, which decide only when to look, are recounted by `#trim`.
 *
 * A granule gets memory before its pages are handed out (`Backing.commit`): where there is none left, that is an error of
 * the allocation, and not a signal at some later store. Low pages are handed out first, so that memory that was used once is
 * used again. Granules that are free altogether go back to the system (`Backing.release`), the highest first, when more than
 * `slackPages` are unused: a program that allocates and frees the same makes no system call for it.
 */

export const pageBytes = 4096
export const granulePages = 16
export const granuleBytes: number = granulePages * pageBytes

/** Words that the pages need in the header of the segment. */
export const P = {
  /** Page below which no page is free. */
  hint: 0,
  /** Page from which on no page was ever handed out. */
  high: 1,
  /** Pages handed out, and granules of them and the free ones that have memory: about, after a process was killed. */
  used: 2,
  backed: 3,
  /** Free pages with memory at which the next look is due. */
  trimAt: 4,
  words: 5,
} as const

/** State of a granule: `empty` reads as zeros; `unknown` while memory is given back, and after a process died in that. */
const granule = { empty: 0, backed: 1, unknown: 2 } as const

/** Entry of the page table at the head of a run: number of pages in bits 0–20, owner's attachment in bits 21–30. */
export const runPagesMask = 0x1fffff
export const runOwnerShift = 21

/** Free pages that keep their memory: 4 MiB. */
const slackPages = 1024

/** Source of the memory. */
export interface Backing {
  /** Makes the system give memory for these bytes, which keep what they hold; throws where it has none. */
  commit(byteOffset: number, lengthBytes: number): void
  /** Gives the memory of these bytes back, which then read as zeros; false if that cannot be. */
  release(byteOffset: number, lengthBytes: number): boolean
}

export interface PagesLayout {
  /** First words of the header's part, and of both tables. */
  readonly header: number
  readonly pageTable: number
  readonly granuleTable: number
  /** Pages that can be handed out: from `first`, a multiple of 16, to before `end`. */
  readonly first: number
  readonly end: number
}

/** The pages of a heap. All calls but the constructor and `length` are for the thread that has the pages' lock. */
export class Pages {
  readonly #i32: Int32Array
  readonly #layout: PagesLayout
  readonly #backing: Backing
  /** False when the system has refused to take memory back. */
  #releases = true

  constructor(i32: Int32Array, layout: PagesLayout, backing: Backing) {
    this.#i32 = i32
    this.#layout = layout
    this.#backing = backing
  }

  static format(i32: Int32Array, { header, first }: Pick<PagesLayout, 'header' | 'first'>): void {
    i32[header + P.hint] = first
    i32[header + P.high] = first
    i32[header + P.trimAt] = slackPages
  }

  /**
   * The first page of a new run, −1 if no range is large enough. Throws what the backing throws; nothing has changed then.
   * `dirty` gets the ranges of the run that may not read as zeros, as pairs of first page and page after the last.
   */
  allocate(pages: number, owner: number, dirty: number[]): number {
    const i32 = this.#i32
    const { header, pageTable, end } = this.#layout
    const hint = i32[header + P.hint]!
    const high = i32[header + P.high]!
    const at = this.#find(hint, pages)
    if (at < 0) return -1
    // What is above was never handed out, so it is zero whether or not it has memory.
    this.#commit(at, Math.min(at + pages, end), dirty, high)
    if (at + pages > high) i32[header + P.high] = at + pages
    i32[pageTable + at] = pages | (owner << runOwnerShift)
    if (at === hint) i32[header + P.hint] = at + pages
    i32[header + P.used] = i32[header + P.used]! + pages
    this.#lowerTrim()
    return at
  }

  #find(from: number, pages: number): number {
    const i32 = this.#i32
    const { header, pageTable, end } = this.#layout
    const high = i32[header + P.high]!
    let start = from
    // Beyond `high` the table is not looked at: reading it would take memory.
    for (let at = from; at < high; ) {
      const entry = i32[pageTable + at]!
      if (entry === 0) {
        at++
        if (at - start === pages) return start
      } else {
        at += entry & runPagesMask
        start = at
      }
    }
    return start + pages <= end ? start : -1
  }

  /** Ensures that these pages have memory. */
  commit(firstPage: number, endPage: number): void {
    this.#commit(firstPage, endPage, null, 0)
  }

  /** Returns true if all of these pages have memory. */
  committed(firstPage: number, endPage: number): boolean {
    const { granuleTable } = this.#layout
    const last = Math.floor((endPage - 1) / granulePages)
    for (let g = Math.floor(firstPage / granulePages); g <= last; g++)
      if (this.#i32[granuleTable + g] !== granule.backed) return false
    return true
  }

  #commit(firstPage: number, endPage: number, dirty: number[] | null, high: number): void {
    const i32 = this.#i32
    const { header, granuleTable, first } = this.#layout
    const end = Math.floor((endPage - 1) / granulePages) + 1
    for (let g = Math.floor(firstPage / granulePages); g < end; ) {
      const state = i32[granuleTable + g]!
      let next = g + 1
      while (next < end && i32[granuleTable + next] === state) next++
      if (state !== granule.empty && dirty !== null) {
        const from = Math.max(g * granulePages, firstPage)
        const to = Math.min(next * granulePages, endPage, high)
        if (to > from) dirty.push(from, to)
      }
      if (state !== granule.backed) {
        this.#backing.commit(g * granuleBytes, (next - g) * granuleBytes)
        for (let each = g; each < next; each++) i32[granuleTable + each] = granule.backed
        if (firstPage >= first) i32[header + P.backed] = i32[header + P.backed]! + next - g
      }
      g = next
    }
  }

  /** Ends the run that begins here; 0 if none does, else its pages. */
  free(page: number): number {
    const i32 = this.#i32
    const { header, pageTable } = this.#layout
    const pages = this.length(page)
    if (pages === 0) return 0
    if (page < i32[header + P.hint]!) i32[header + P.hint] = page
    i32[pageTable + page] = 0
    i32[header + P.used] = i32[header + P.used]! - pages
    if (this.#releases && this.#unused() > i32[header + P.trimAt]!) this.#trim()
    return pages
  }

  /** Pages of the run that begins here, 0 if none does. */
  length(page: number): number {
    const { header, pageTable, first } = this.#layout
    if (!(page >= first && page < this.#i32[header + P.high]!)) return 0
    return this.#i32[pageTable + page]! & runPagesMask
  }

  /** Gives the run that begins here to another owner; nothing happens if it is not there. Needs no lock. */
  give(page: number, owner: number): void {
    const i32 = this.#i32
    const { pageTable } = this.#layout
    if (this.length(page) === 0) return
    const entry = Atomics.load(i32, pageTable + page)
    // Freed by another thread meanwhile, it stays so.
    Atomics.compareExchange(i32, pageTable + page, entry, (entry & runPagesMask) | (owner << runOwnerShift))
  }

  /** Returns true if a run of this owner begins here. */
  isOf(page: number, owner: number): boolean {
    return this.length(page) > 0 && this.#i32[this.#layout.pageTable + page]! >>> runOwnerShift === owner
  }

  /** First pages of all runs of an owner. */
  *runsOf(owner: number): Generator<number> {
    const i32 = this.#i32
    const { header, pageTable, first } = this.#layout
    for (let at = first; at < i32[header + P.high]!; ) {
      const entry = i32[pageTable + at]!
      if (entry !== 0 && entry >>> runOwnerShift === owner) yield at
      at += entry === 0 ? 1 : entry & runPagesMask
    }
  }

  freeAllOf(owner: number): void {
    const i32 = this.#i32
    const { header, pageTable, first } = this.#layout
    for (let at = first; at < i32[header + P.high]!; ) {
      const entry = i32[pageTable + at]!
      if (entry !== 0 && entry >> runOwnerShift === owner) this.free(at)
      at += entry === 0 ? 1 : entry & runPagesMask
    }
  }

  #unused(): number {
    const { header } = this.#layout
    return this.#i32[header + P.backed]! * granulePages - this.#i32[header + P.used]!
  }

  /**
   * Lowers the number of free pages at which `#trim` runs: after more pages have come into use, fewer that become free are worth a look.
   */
  #lowerTrim(): void {
    const i32 = this.#i32
    const { header } = this.#layout
    const due = Math.max(this.#unused() + slackPages / 2, slackPages)
    if (due < i32[header + P.trimAt]!) i32[header + P.trimAt] = due
  }

  /** Gives memory back until half of the slack is left, as far as whole granules are free. */
  #trim(): void {
    const i32 = this.#i32
    const { header, pageTable, granuleTable, first } = this.#layout
    const high = i32[header + P.high]!
    let used = 0
    /** Granules that are free altogether, as pairs of first and the one after the last. */
    const gaps: number[] = []
    for (let at = first, start = first; ; ) {
      const entry = at < high ? i32[pageTable + at]! : -1
      if (entry === 0) {
        at++
        continue
      }
      const from = Math.ceil(start / granulePages)
      // Of the last granule, no page from `high` on is in use either.
      const to = at < high ? Math.floor(at / granulePages) : Math.ceil(at / granulePages)
      if (to > from) gaps.push(from, to)
      if (at >= high) break
      used += entry & runPagesMask
      at += entry & runPagesMask
      start = at
    }
    let backed = 0
    const lastGranule = Math.ceil(high / granulePages)
    for (let g = first / granulePages; g < lastGranule; g++) if (i32[granuleTable + g] !== granule.empty) backed++
    i32[header + P.used] = used
    let surplus = Math.floor((backed * granulePages - used - slackPages / 2) / granulePages)
    for (let gap = gaps.length - 2; gap >= 0 && surplus > 0 && this.#releases; gap -= 2) {
      for (let to = gaps[gap + 1]!; to > gaps[gap]! && surplus > 0 && this.#releases; ) {
        let from = to
        while (from > gaps[gap]! && to - from < surplus && i32[granuleTable + from - 1] !== granule.empty) from--
        if (from < to) {
          const given = this.#release(from, to)
          surplus -= given
          backed -= given
        }
        to = from - 1
      }
    }
    i32[header + P.backed] = backed
    // Where granules are in use in part only, much may stay. Another look is worth it after more, or half, has become free.
    const stays = Math.max(backed * granulePages - used, 0)
    i32[header + P.trimAt] = Math.max(stays + (Math.min(slackPages, used) >> 1), slackPages)
  }

  /** Gives the memory of granules back; returns their number. */
  #release(from: number, to: number): number {
    const i32 = this.#i32
    const { granuleTable } = this.#layout
    for (let g = from; g < to; g++) i32[granuleTable + g] = granule.unknown
    this.#releases = this.#backing.release(from * granuleBytes, (to - from) * granuleBytes)
    // Without an answer that it is gone, what is there is what was there.
    const state = this.#releases ? granule.empty : granule.backed
    for (let g = from; g < to; g++) i32[granuleTable + g] = state
    return this.#releases ? to - from : 0
  }
}
