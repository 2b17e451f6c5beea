/** A bench for hooks: samples in, samples out; a clock, files and a log that a test sees. */
import { createHash } from 'node:crypto'
import {
  type HookChain,
  type HookContext,
  type HookOptions,
  hooksOf,
  readHooks,
  SampleField,
  SampleFlag,
  Samples,
  type Signal,
  SignalType,
  signalsOf,
  Verdict,
} from '../../../src/gateway/index.ts'

export type Value = number | bigint | boolean | [number, number]
type Time = [seconds: number, nanoseconds: number]

/** A sample as a test writes it. What is missing has no flag. */
export interface Row {
  sequence?: number | bigint
  origin?: Time
  received?: Time
  newFrame?: boolean
  newSimulation?: boolean
  values?: Value[]
}

type BenchOptions = HookOptions & { room?: number } & Partial<
    Pick<HookContext, 'initialSequence' | 'place' | 'publish'>
  >

export class Bench {
  readonly chain: HookChain
  readonly files = new Map<string, string>()
  readonly closed: string[] = []
  readonly log: string[] = []
  /** What the clock says next. */
  now: Time = [1000, 0]
  readonly samples: Samples
  readonly signals: readonly Signal[]
  restarts = 0

  /** `hooks`: the list of a configuration. `signals`: a format string, or a list. */
  constructor(
    hooks: unknown,
    signals: string | readonly Signal[] = '2f',
    { room = 64, initialSequence = 0, place = 'path', publish = () => {}, ...options }: BenchOptions = {},
  ) {
    this.signals = typeof signals === 'string' ? signalsOf(signals) : signals
    this.samples = new Samples(1, room)
    const context: HookContext = {
      signals: this.signals,
      values: room,
      owner: 'bench',
      initialSequence,
      place,
      publish,
      stamp: (samples, word) => {
        samples.setInt64(word, this.now[0])
        samples.setInt64(word + 2, this.now[1])
      },
      nowNs: () => this.now[0] * 1e9 + this.now[1],
      open: (path) => {
        this.files.set(path, '')
        return {
          write: (bytes) => void this.files.set(path, this.files.get(path) + Buffer.from(bytes).toString('latin1')),
          close: () => void this.closed.push(path),
        }
      },
      log: (level, line) => void this.log.push(`${level}: ${line}`),
      hash: hashOf,
      restart: () => void this.restarts++,
    }
    const list = readHooks('bench', { hooks: Array.isArray(hooks) ? hooks : [hooks] }, () => undefined)
    this.chain = hooksOf(list, context, options)
    this.chain.restart()
  }

  /** What becomes of one sample: the row that comes out, or the verdict. */
  one(row: Row): Row | 'skip' | 'error' {
    const word = 0
    fill(this.samples, word, row, this.signals)
    const verdict = this.chain.process(this.samples, word)
    if (verdict === Verdict.skip) return 'skip'
    if (verdict === Verdict.error) return 'error'
    return rowOf(this.samples, word, this.chain.signals)
  }

  /** Those of the rows that come out. */
  run(rows: readonly Row[]): Row[] {
    return rows.map((row) => this.one(row)).filter((row) => typeof row !== 'string')
  }

  /** What was held back. */
  drained(): Row[] {
    const rows: Row[] = []
    while (this.chain.drain(this.samples, 0)) rows.push(rowOf(this.samples, 0, this.chain.signals))
    return rows
  }
}

/** The first values of the samples that come out of a hook for the first values of others. */
export function through(hooks: unknown, values: readonly number[], options?: { room?: number }): number[] {
  const bench = new Bench(hooks, 'f', options)
  return bench
    .run(values.map((value, sequence) => ({ sequence, values: [value] })))
    .map(({ values }) => values![0] as number)
}

function hashOf(algorithm: string): ReturnType<HookContext['hash']> {
  try {
    let hash = createHash(algorithm)
    return {
      update: (bytes) => void hash.update(bytes),
      finish: () => {
        const result = hash.digest()
        hash = createHash(algorithm)
        return result
      },
    }
  } catch {
    return undefined
  }
}

function setTime(samples: Samples, word: number, [seconds, nanoseconds]: Time): void {
  samples.setInt64(word, seconds)
  samples.setInt64(word + 2, nanoseconds)
}

function setBig(samples: Samples, word: number, value: number | bigint): void {
  samples.u32[word] = Number(BigInt.asUintN(32, BigInt(value)))
  samples.u32[word + 1] = Number(BigInt.asUintN(32, BigInt(value) >> 32n))
}

export function fill(samples: Samples, word: number, row: Row, signals: readonly Signal[]): void {
  // Whatever was there before must not matter.
  samples.u32.fill(0x5a5a5a5a, word)
  samples.clear(word)
  const values = row.values ?? []
  let flags = 0
  if (row.sequence !== undefined) {
    flags |= SampleFlag.sequence
    setBig(samples, word + SampleField.sequence, row.sequence)
  }
  if (row.origin !== undefined) {
    flags |= SampleFlag.tsOrigin
    setTime(samples, word + SampleField.origin, row.origin)
  }
  if (row.received !== undefined) {
    flags |= SampleFlag.tsReceived
    setTime(samples, word + SampleField.received, row.received)
  }
  if (row.newFrame) flags |= SampleFlag.newFrame
  if (row.newSimulation) flags |= SampleFlag.newSimulation
  if (values.length > 0) flags |= SampleFlag.data
  samples.u32[word + SampleField.flags] = flags
  samples.u32[word + SampleField.length] = values.length
  values.forEach((value, i) => {
    const at = word + SampleField.data + 2 * i
    const { type } = signals[i]!
    if (type === SignalType.float) samples.f64[at >> 1] = value as number
    else if (type === SignalType.integer) setBig(samples, at, value as number)
    else if (type === SignalType.boolean) setBig(samples, at, value ? 1 : 0)
    else samples.f32.set(value as [number, number], at)
  })
}

/** 64-bit integers that a number cannot hold are bigints. */
function numberAt(samples: Samples, word: number, signed: boolean): number | bigint {
  const value = (BigInt(samples.i32[word + 1]!) << 32n) | BigInt(samples.u32[word]!)
  const exact = signed ? value : BigInt.asUintN(64, value)
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact
}

function rowOf(samples: Samples, word: number, signals: readonly Signal[]): Row {
  const flags = samples.u32[word + SampleField.flags]!
  const row: Row = {}
  const time = (at: number): Time => [samples.int64(at), samples.int64(at + 2)]
  if (flags & SampleFlag.sequence) row.sequence = numberAt(samples, word + SampleField.sequence, false)
  if (flags & SampleFlag.tsOrigin) row.origin = time(word + SampleField.origin)
  if (flags & SampleFlag.tsReceived) row.received = time(word + SampleField.received)
  if (flags & SampleFlag.newFrame) row.newFrame = true
  if (flags & SampleFlag.newSimulation) row.newSimulation = true
  const length = samples.u32[word + SampleField.length]!
  if (length > 0)
    row.values = Array.from({ length }, (_, i) => {
      const at = word + SampleField.data + 2 * i
      const { type } = signals[i]!
      if (type === SignalType.float) return samples.f64[at >> 1]!
      if (type === SignalType.integer) return numberAt(samples, at, true)
      if (type === SignalType.boolean) return samples.u32[at] === 1
      return [samples.f32[at]!, samples.f32[at + 1]!]
    })
  return row
}
