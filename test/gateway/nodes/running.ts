/** Nodes in a test: started from settings, written to and read from as a path does it, with all their samples counted. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type NodeContext,
  Pool,
  type RunningNode,
  SampleField,
  SampleFlag,
  type Settings,
  SettingsReader,
  type Signal,
  signalsOf,
} from '../../../src/gateway/index.ts'
import { nodeTypes } from '../../../src/gateway/nodes/index.ts'

export interface Read {
  sequence: number
  values: number[]
  origin: number
  received: boolean
}

const capacity = 2048

export class TestNode {
  readonly logs: string[] = []
  failure: Error | undefined
  finished = false
  node!: RunningNode
  readonly pool: Pool = Pool.create(capacity, 64)
  readonly #batch = new Int32Array(16)
  #signals!: readonly Signal[]

  /** `types`: of the signals in both directions. */
  static async start(settings: Settings, types = '4f', directions = { in: true, out: true }): Promise<TestNode> {
    const type = await nodeTypes[settings.type as string]!()
    const common = { name: 'node', vectorize: { in: 1, out: 1 }, signals: signalsOf(types) }
    const parsed = type.parse(new SettingsReader('node', settings), common)
    return TestNode.of(types, (context) => parsed.start(context, directions, parsed.share?.()))
  }

  static async of(types: string, start: (context: NodeContext) => Promise<RunningNode>): Promise<TestNode> {
    const test = new TestNode()
    const signals = signalsOf(types)
    test.#signals = signals
    test.node = await start({
      name: 'node',
      pool: test.pool,
      clock: {
        stamp(word) {
          const now = Date.now()
          test.pool.samples.setInt64(word, Math.floor(now / 1000))
          test.pool.samples.setInt64(word + 2, (now % 1000) * 1e6)
        },
        nowNs: () => Number(process.hrtime.bigint()),
      },
      signals: { in: signals, out: signals },
      readable() {},
      statistics: () => undefined,
      finish() {
        test.finished = true
      },
      log: (level, line) => void test.logs.push(`${level}: ${line}`),
      fail: (error) => {
        test.failure = error
      },
    })
    return test
  }

  get counters(): Readonly<Record<string, number>> {
    return this.node.counters()
  }

  /** Writes samples of these numbers, whose values are the number and its multiples, in one batch; how many were taken. */
  write(...sequences: number[]): number {
    const { samples } = this.pool
    const batch = new Int32Array(sequences.length)
    this.pool.take(batch, 0, batch.length)
    sequences.forEach((sequence, i) => {
      const word = samples.word(batch[i]!)
      samples.clear(word)
      samples.setInt64(word + SampleField.sequence, sequence)
      samples.setInt64(word + SampleField.origin, 1_600_000_000 + sequence)
      samples.u32[word + SampleField.length] = this.#signals.length
      samples.u32[word + SampleField.flags] = SampleFlag.tsOrigin | SampleFlag.sequence | SampleFlag.data
      for (let j = 0; j < this.#signals.length; j++) {
        const at = word + SampleField.data + 2 * j
        if (this.#signals[j]!.type === 0) samples.f64[at >> 1] = sequence * (j + 1)
        else samples.setInt64(at, sequence * (j + 1))
      }
    })
    const { destination } = this.node
    const taken = destination!.write(batch, batch.length)
    this.pool.release(batch, 0, destination!.released)
    destination!.flush?.()
    return taken
  }

  /** What can be read now. */
  take(): Read[] {
    const { samples } = this.pool
    const { source } = this.node
    const found: Read[] = []
    for (;;) {
      const room = this.pool.take(this.#batch, 0, this.#batch.length)
      const n = source!.read(this.#batch, room)
      for (let i = 0; i < n; i++) {
        const word = samples.word(this.#batch[i]!)
        const length = samples.u32[word + SampleField.length]!
        const values = Array.from({ length }, (_, j) => {
          const at = word + SampleField.data + 2 * j
          return this.#signals[j]?.type === 1 ? samples.int64(at) : samples.f64[at >> 1]!
        })
        const flags = samples.u32[word + SampleField.flags]!
        found.push({
          sequence: samples.int64(word + SampleField.sequence),
          values,
          origin: samples.int64(word + SampleField.origin),
          received: (flags & SampleFlag.tsReceived) !== 0,
        })
      }
      this.pool.release(this.#batch, 0, source!.released)
      if (n === 0) return found
    }
  }

  /** Reads until there are `count` samples. */
  async read(count: number): Promise<Read[]> {
    const found: Read[] = []
    await until(() => {
      found.push(...this.take())
      return found.length >= count
    })
    return found
  }

  /** Stops the node, which has to give back all samples. */
  async stop(): Promise<void> {
    await this.node.stop()
    if (this.pool.available !== capacity)
      throw new Error(`${capacity - this.pool.available} samples were not given back`)
  }
}

/** What is read of the samples that `write` has written. */
export function samplesOf(...sequences: number[]): Read[] {
  return sequences.map((sequence) => ({
    sequence,
    values: [1, 2, 3, 4].map((factor) => sequence * factor),
    origin: 1_600_000_000 + sequence,
    received: true,
  }))
}

/** Lets the event loop turn until the condition holds; the test's own limit ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn()
}

/** What is wrong with the settings of a node; empty if nothing is. */
export async function wrongWith(settings: Settings): Promise<string> {
  const type = await nodeTypes[settings.type as string]!()
  try {
    type.parse(new SettingsReader('node', settings), { name: 'node', vectorize: { in: 1, out: 1 }, signals: null })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
