/**
 * Decodes flows and their amounts from cells that have XORs of keys, numbers of flows and sums of amounts (FlowRadar): a cell with one flow left has its key, and
 * the flow leaves its other cells, which may then have one left. Amounts are solved in the same way, one unknown in a cell at a time.
 */

export interface Cells {
  /** Cells of one partition; there are three, and a flow has a cell in each. */
  width: number
  /** Words of a key. */
  words: number
  xors: Int32Array
  flows: Int32Array
  amounts: Float64Array
  /** Returns the three cells of a key that is stored as words. */
  cellsOf(words: Int32Array, at: number): readonly [number, number, number]
  /** Returns true if the key was added, according to the filter: never false if it was. */
  has(words: Int32Array, at: number): boolean
}

export interface DecodedFlow {
  key: Int32Array
  cells: readonly [number, number, number]
  /** Amount of the flow; NaN if it is unknown. */
  amount: number
}

/** Remaining contents of cells while flows are taken out of them. */
export class FlowDecoder {
  readonly #cells: Cells
  readonly #xors: Int32Array
  readonly #left: Int32Array
  /** Remaining amounts, without those of solved flows. */
  readonly rest: Float64Array
  readonly found: Map<string, DecodedFlow> = new Map()

  constructor(cells: Cells) {
    this.#cells = cells
    this.#xors = cells.xors.slice()
    this.#left = cells.flows.slice()
    this.rest = cells.amounts.slice()
  }

  /** True if every flow was found. */
  get isComplete(): boolean {
    return this.#left.every((flows) => flows === 0)
  }

  /** Takes out all flows that can be decoded. Returns their number. */
  peel(): number {
    const before = this.found.size
    const queue = [...this.#left.keys()].filter((cell) => this.#left[cell] === 1)
    for (let cell = queue.pop(); cell !== undefined; cell = queue.pop()) {
      if (this.#left[cell] !== 1) continue
      const { words } = this.#cells
      const key = this.#xors.slice(cell * words, (cell + 1) * words)
      // A key that does not hash to this cell is not in it: the cell has flows that the filter took for known ones, or was forged.
      if (!this.#cells.cellsOf(key, 0).includes(cell)) continue
      for (const other of this.take(key)) if (this.#left[other] === 1) queue.push(other)
    }
    return this.found.size - before
  }

  /** Takes out a flow whose key is known. Returns its cells; none if it is not there (any more). */
  take(key: Int32Array): readonly number[] {
    const cells = this.#cells.cellsOf(key, 0)
    const name = String.fromCharCode(...new Uint8Array(key.buffer, key.byteOffset, key.byteLength))
    if (this.found.has(name) || cells.some((cell) => this.#left[cell]! < 1)) return []
    for (const cell of cells) {
      this.#left[cell]!--
      for (let w = 0; w < key.length; w++) this.#xors[cell * key.length + w]! ^= key[w]!
    }
    this.found.set(name, { key, cells, amount: Number.NaN })
    return cells
  }

  /** Takes out the flows that another point found and this one has, too, until neither finds more. */
  peelWith(other: FlowDecoder): void {
    for (let progress = 1; progress > 0; ) {
      progress = this.peel() + other.peel()
      for (const [one, two] of [
        [this, other],
        [other, this],
      ] as const)
        for (const { key } of [...two.found.values()])
          if (one.#cells.has(key, 0) && one.take(key).length > 0) progress++
    }
  }

  /** Solves the amounts of the flows that were found, as far as cells with one unknown allow. */
  solve(): void {
    const flows = [...this.found.values()]
    const unknown = new Int32Array(this.#left.length)
    const ids = new Int32Array(this.#left.length)
    for (const [id, { cells }] of flows.entries())
      for (const cell of cells) {
        unknown[cell]!++
        ids[cell]! ^= id
      }
    const isSolvable = (cell: number) => unknown[cell] === 1 && this.#left[cell] === 0
    const queue = [...unknown.keys()].filter(isSolvable)
    for (let cell = queue.pop(); cell !== undefined; cell = queue.pop()) {
      if (!isSolvable(cell)) continue
      const id = ids[cell]!
      const flow = flows[id]!
      flow.amount = Math.max(0, this.rest[cell]!)
      for (const other of flow.cells) {
        this.rest[other]! -= flow.amount
        unknown[other]!--
        ids[other]! ^= id
        if (isSolvable(other)) queue.push(other)
      }
    }
  }

  /** Returns the maximum amount of a flow without a solved amount: the smallest amount that is left in one of its cells. */
  mostOf(cells: readonly number[]): number {
    return Math.max(0, Math.min(...cells.map((cell) => this.rest[cell]!)))
  }
}
