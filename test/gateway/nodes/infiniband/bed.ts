/** A gateway around single nodes: a pool, a clock, and what a path does with them, step by step. */
import {
  type NodeContext,
  type NodeType,
  type ParsedNode,
  Pool,
  type RunningNode,
  SampleField,
  SampleFlag,
  SettingsReader,
  signalsOf,
} from '../../../../src/gateway/index.ts'
import { DevicePool } from '../../../../src/gateway/nodes/device-pool.ts'
import { infiniband } from '../../../../src/gateway/nodes/infiniband/index.ts'
import { nowNs } from '../../../../src/memory/index.ts'

export interface BedOptions {
  /** In whose memory the pool lies; without it, in memory of no device. */
  device?: string
  capacity?: number
  values?: number
}

/** As a caller of node-types does, with the keys that it reads itself. */
export function parseNode(type: NodeType, name: string, settings: object): ParsedNode {
  const { in: inside, out: outside } = settings as { in?: { vectorize?: number }; out?: { vectorize?: number } }
  const reader = new SettingsReader(`node '${name}'`, settings as Record<string, unknown>, ['type'], undefined, {
    in: ['vectorize'],
    out: ['vectorize'],
  })
  const vectorize = { in: inside?.vectorize ?? 1, out: outside?.vectorize ?? 1 }
  return type.parse(reader, { name, vectorize, signals: null })
}

export class Bed {
  readonly pool: Pool
  readonly nodes: TestNode[] = []
  #device: DevicePool | undefined

  constructor({ device, capacity = 1024, values = 8 }: BedOptions = {}) {
    if (device !== undefined) this.#device = DevicePool.create(device, capacity, values)
    this.pool = this.#device?.pool ?? Pool.create(capacity, values)
  }

  async start(name: string, settings: object, type: NodeType = infiniband): Promise<TestNode> {
    const node = new TestNode(this.pool, name, settings)
    await node.start(parseNode(type, name, settings))
    this.nodes.push(node)
    return node
  }

  /** Stops all nodes. What is not in the pool afterwards was lost. */
  async stop(): Promise<number> {
    for (const node of this.nodes.splice(0)) await node.stop()
    const missing = this.pool.capacity - this.pool.available
    this.#device?.close()
    this.#device = undefined
    return missing
  }
}

export class TestNode {
  readonly pool: Pool
  readonly lines: string[] = []
  readonly failures: Error[] = []
  readonly #name: string
  readonly #vectorize: { in: number; out: number }
  #running: RunningNode | undefined

  constructor(pool: Pool, name: string, settings: object) {
    const { in: inside, out: outside } = settings as { in?: { vectorize?: number }; out?: { vectorize?: number } }
    this.pool = pool
    this.#name = name
    this.#vectorize = { in: inside?.vectorize ?? 1, out: outside?.vectorize ?? 1 }
  }

  async start(parsed: ParsedNode): Promise<void> {
    const { pool } = this
    const signals = signalsOf('8f')
    const context: NodeContext = {
      name: this.#name,
      pool,
      signals: { in: signals, out: signals },
      clock: {
        nowNs,
        stamp(word) {
          pool.samples.setInt64(word, 1_700_000_000)
          pool.samples.setInt64(word + 2, 0)
        },
      },
      readable: () => {},
      finish: () => {},
      statistics: () => undefined,
      log: (level, line) => this.lines.push(`${level}: ${line}`),
      fail: (error) => this.failures.push(error),
    }
    this.#running = await parsed.start(context, { in: true, out: true }, parsed.share?.())
  }

  get running(): RunningNode {
    return this.#running!
  }

  get state(): string {
    return this.running.state
  }

  get counters(): Readonly<Record<string, number>> {
    return this.running.counters()
  }

  /** Reads once; the sequence numbers of what came. Throws if a sample does not hold what `write` wrote. */
  read(count: number = this.#vectorize.in): number[] {
    const { pool } = this
    const list = new Int32Array(count)
    const taken = pool.take(list, 0, count)
    const source = this.running.source!
    const read = taken === 0 ? 0 : source.read(list, taken)
    const sequences = Array.from(list.subarray(0, read), (index) => check(pool, index))
    if (taken > 0) pool.release(list, 0, source.released)
    return sequences
  }

  /** Writes samples with these sequence numbers, whose values and times follow from them; how many were taken. */
  write(sequences: readonly number[], values: (sequence: number) => number = () => 8): number {
    const { pool } = this
    const list = new Int32Array(sequences.length)
    if (pool.take(list, 0, list.length) < list.length) throw new Error('the pool is empty')
    for (const [i, sequence] of sequences.entries()) fill(pool, list[i]!, sequence, values(sequence))
    const destination = this.running.destination!
    const written = destination.write(list, list.length)
    pool.release(list, 0, destination.released)
    return written
  }

  /** Lets the node do what is to be done without samples. */
  flush(): void {
    this.running.destination!.flush?.()
  }

  async stop(): Promise<void> {
    await this.#running?.stop()
    this.#running = undefined
  }
}

const allFlags = SampleFlag.tsOrigin | SampleFlag.tsReceived | SampleFlag.sequence | SampleFlag.data

function fill(pool: Pool, index: number, sequence: number, values: number): void {
  const { samples } = pool
  const word = samples.word(index)
  samples.clear(word)
  samples.u32[word + SampleField.length] = values
  samples.u32[word + SampleField.flags] = SampleFlag.tsOrigin | SampleFlag.sequence | SampleFlag.data
  samples.setInt64(word + SampleField.sequence, sequence)
  samples.setInt64(word + SampleField.origin, 1_000_000 + sequence)
  samples.setInt64(word + SampleField.origin + 2, sequence % 1e9)
  for (let i = 0; i < values; i++) samples.f64[(word + SampleField.data) / 2 + i] = sequence + i / 16
}

function check(pool: Pool, index: number): number {
  const { samples } = pool
  const word = samples.word(index)
  const sequence = samples.int64(word + SampleField.sequence)
  const seen = [samples.int64(word + SampleField.origin), samples.int64(word + SampleField.origin + 2)]
  if (seen[0] !== 1_000_000 + sequence || seen[1] !== sequence % 1e9) throw new Error(`origin of ${sequence}: ${seen}`)
  if (samples.int64(word + SampleField.received) < 1e9) throw new Error(`sample ${sequence} has no time of receipt`)
  const flags = samples.u32[word + SampleField.flags]!
  if (flags !== allFlags) throw new Error(`flags ${flags} of sample ${sequence}`)
  for (let i = 0; i < samples.u32[word + SampleField.length]!; i++) {
    const value = samples.f64[(word + SampleField.data) / 2 + i]!
    if (value !== sequence + i / 16) throw new Error(`value ${i} of sample ${sequence}: ${value}`)
  }
  return sequence
}

/** Turns the event loop, and `step`, until it says that it is done. */
export async function until(done: () => boolean, step: () => void = () => {}): Promise<void> {
  const end = performance.now() + 20_000
  for (;;) {
    step()
    if (done()) return
    if (performance.now() > end) throw new Error('what was waited for did not happen in 20 s')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
