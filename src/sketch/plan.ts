/**
 * Derivation of a sketch and its memory from a task and an accuracy: the idea of OpenSketch (Yu, Jose and Miao, NSDI 2013, section 5),
 * whose sketches are one pipeline of hashing, classifying and counting, and whose manager turns the accuracy of each task into counters by
 * the theorem of its sketch.
 *
 * The theorems are those of the kinds; their files contain the references. Tasks without a bound in advance (entropy, distributions, the
 * top k of HeavyKeeper) have no plan. The memory is the minimum with which the kind has the dimensions that its theorem requires.
 */
import { HyperLogLog, LinearCounting } from './cardinality.ts'
import { CocoSketch } from './coco.ts'
import { CountMin } from './count-min.ts'
import type { SketchKind, SketchKinds } from './create.ts'
import { DDSketch } from './ddsketch.ts'
import { between, SketchError, wholeNumber } from './error.ts'
import { FlowRadar } from './flowradar.ts'
import { SpaceSaving } from './frequent.ts'
import { mostKeyBytes } from './keys.ts'
import { Kll } from './kll.ts'
import { mostBytes } from './sketch.ts'
import { SpreadSketch, spreadConfidence } from './spread.ts'
import { WaveSketch } from './wave.ts'

/** Task with the required accuracy. */
export type SketchTask =
  /** Amount of any key, and thus heavy hitters: wrong by at most `error` of the total. */
  | { task: 'size' | 'heavy-hitters'; keyBytes: number; error: number; confidence?: number }
  /** Changes between two windows, one sketch for each: wrong by at most `error` of both totals together. Always certain. */
  | { task: 'heavy-changers'; keyBytes: number; error: number }
  /** Amounts by any partial key, for those of at most `share` (default 0.1) of the total: wrong by at most `error` of it (0.95). */
  | { task: 'partial-keys'; keyBytes: number; error: number; share?: number }
  /** Number of keys: wrong by at most `error` of them (0.99). If they are known to be at most `keys`, less memory may be enough. */
  | { task: 'cardinality'; keyBytes: number; error: number; keys?: number }
  /**
   * Quantiles of values, whose largest is at most `range` times the smallest (default 10^9): wrong by at most `error` of the value.
   * Always certain.
   */
  | { task: 'quantiles'; error: number; range?: number }
  /** Quantiles of values of any range: their rank wrong by at most `error` of all (0.99). */
  | { task: 'ranks'; error: number }
  /**
   * Amount of each key in every window: too large by at most `error` of the amount of all keys in the window, and by the details that
   * wavelets drop.
   */
  | { task: 'rates'; keyBytes: number; error: number; confidence?: number; windows?: number; coefficients?: number }
  /** Exact amounts of all flows, at most `keys` of them; and the loss of each between two points. */
  | { task: 'flows'; keyBytes: number; keys: number }
  /**
   * Number of keys of each source, at most `most` (default 2000): too large by at most `error` of all keys, and by the error of its bitmap.
   */
  | { task: 'superspreaders'; keyBytes: number; sourceBytes: number; error: number; confidence?: number; most?: number }

/** Kind and options for `createSketch(plan.kind, plan.options)`. */
export type SketchPlan = {
  [K in SketchKind]: { kind: K; options: SketchKinds[K]['options'] & { bytes: number }; confidence: number }
}[SketchKind]

/**
 * Returns the kind and the memory for a task. Throws ERR_SKETCH_VALUE with the name of the option that is wrong or requires more than 2 GB.
 */
export function planSketch(task: SketchTask): SketchPlan {
  if ('keyBytes' in task) wholeNumber('keyBytes', task.keyBytes, 1, mostKeyBytes)
  if ('error' in task) between('error', task.error, 0, 1)
  switch (task.task) {
    case 'size':
    case 'heavy-hitters':
      return sizes(task.keyBytes, task.error, confidenceOf(task.confidence))
    case 'heavy-changers':
      return certain(task.keyBytes, task.error)
    case 'partial-keys': {
      // k / 2 + √(k f + k² / 4) = error, solved for k = 20 / l; all in shares of the total.
      const share = Math.min(1, between('share', task.share ?? 0.1, 0, 1 + 1e-9))
      const width = (20 * (share + task.error)) / task.error ** 2
      const options = (bytes: number) => ({ bytes, keyBytes: task.keyBytes })
      const bytes = leastBytes((most) => CocoSketch.configure(options(most)).width >= width)
      return { kind: 'coco', options: options(bytes), confidence: 0.95 }
    }
    case 'cardinality':
      return cardinality(task.keyBytes, task.error, task.keys)
    case 'quantiles': {
      const gamma = (1 + task.error) / (1 - task.error)
      const bins = Math.ceil(Math.log(atLeastOne('range', task.range ?? 1e9)) / Math.log(gamma)) + 1
      const bytes = leastBytes((most) => DDSketch.configure({ bytes: most, accuracy: task.error }).bins >= bins)
      return { kind: 'ddsketch', options: { bytes, accuracy: task.error }, confidence: 1 }
    }
    case 'ranks': {
      const bytes = leastBytes((most) => Kll.configure({ bytes: most }).k >= 8 / task.error)
      return { kind: 'kll', options: { bytes }, confidence: 0.99 }
    }
    case 'rates': {
      const { keyBytes, windows, coefficients } = task
      const rows = rowsFor(confidenceOf(task.confidence), 8)
      const own = { keyBytes, rows, ...(windows && { windows }), ...(coefficients && { coefficients }) }
      const bytes = leastBytes((most) => WaveSketch.configure({ ...own, bytes: most }).width >= Math.E / task.error)
      return { kind: 'wave', options: { ...own, bytes }, confidence: 1 - Math.exp(-rows) }
    }
    case 'flows': {
      const { keyBytes } = task
      const keys = wholeNumber('keys', task.keys, 1, 2 ** 26)
      // A small number of flows may need more cells than the limit: three standard deviations of a Poisson number.
      const peeled = (1.24 * (keys + 3 * Math.sqrt(keys))) / 3 + 3
      // Two flows that share all three cells never decode: n (n − 1) / 2 pairs, each with a probability of 1 / w³; half of the error
      // probability is for them.
      const apart = Math.cbrt((keys * (keys - 1)) / 2 / 0.005)
      const width = Math.max(peeled, apart)
      const bytes = leastBytes((most) => FlowRadar.configure({ bytes: most, keyBytes }).width >= width)
      return { kind: 'flowradar', options: { bytes, keyBytes }, confidence: 0.99 }
    }
    case 'superspreaders': {
      const { keyBytes, sourceBytes } = task
      const wanted = confidenceOf(task.confidence)
      const rows = [1, 2, 3, 4].find((d) => spreadConfidence(d) >= wanted)
      if (rows === undefined) throw new SketchError('ERR_SKETCH_VALUE', `confidence: ${wanted} is more than spread has`)
      // Linear counting is accurate up to about four keys for each bit.
      const bits = 32 * Math.ceil(wholeNumber('most', task.most ?? 2000, 1, 2 ** 22) / 128)
      const own = { keyBytes, sourceBytes, rows, bits }
      const bytes = leastBytes((most) => SpreadSketch.configure({ ...own, bytes: most }).width >= Math.E / task.error)
      return { kind: 'spread', options: { ...own, bytes }, confidence: spreadConfidence(rows) }
    }
    default:
      throw new SketchError('ERR_SKETCH_VALUE', `task: '${(task as { task: string }).task}' has no plan`)
  }
}

/** Returns a plan of Count-Min or Space-Saving, whichever needs less; only the latter is certain. */
function sizes(keyBytes: number, error: number, confidence: number): SketchPlan {
  const sure = certain(keyBytes, error)
  if (confidence === 1) return sure
  const rows = rowsFor(confidence, 16)
  const options = (bytes: number) => ({ bytes, keyBytes, rows })
  const bytes = leastBytes((most) => CountMin.configure(options(most)).width >= Math.E / error)
  if (bytes >= sure.options.bytes) return sure
  return { kind: 'count-min', options: options(bytes), confidence: 1 - Math.exp(-rows) }
}

/** Returns a plan of Space-Saving, which errs by at most N / k. */
function certain(keyBytes: number, error: number): SketchPlan {
  const bytes = leastBytes((most) => SpaceSaving.configure({ bytes: most, keyBytes }).capacity >= 1 / error)
  return { kind: 'space-saving', options: { bytes, keyBytes }, confidence: 1 }
}

/** Returns a plan of HyperLogLog, or of linear counting if there are few keys: three standard errors have to be below `error`. */
function cardinality(keyBytes: number, error: number, keys?: number): SketchPlan {
  const confidence = 0.99
  const registers = (3 * 1.04 * (1 + error)) / error
  const logLog = leastBytes(
    (most) => 2 ** (HyperLogLog.configure({ bytes: most, keyBytes }).precision / 2) >= registers,
  )
  const hyperloglog: SketchPlan = { kind: 'hyperloglog', options: { bytes: logLog, keyBytes }, confidence }
  if (keys === undefined) return hyperloglog
  wholeNumber('keys', keys, 1, 2 ** 40)
  const isEnough = (bytes: number) => {
    const bits = 32 * LinearCounting.configure({ bytes, keyBytes }).words
    const load = keys / bits
    // Some bits have to stay clear, otherwise nothing is known: twenty on average.
    return 3 * Math.sqrt(bits * (Math.exp(load) - load - 1)) <= error * keys && bits * Math.exp(-load) >= 20
  }
  try {
    const bytes = leastBytes(isEnough)
    if (bytes < logLog) return { kind: 'linear-counting', options: { bytes, keyBytes }, confidence }
  } catch (cause) {
    if (!(cause instanceof SketchError)) throw cause
  }
  return hyperloglog
}

/** Returns the minimum memory that is enough. More is enough, too. */
function leastBytes(isEnough: (bytes: number) => boolean): number {
  const enough = (bytes: number) => {
    try {
      return isEnough(bytes)
    } catch (error) {
      // Too few bytes for the kind at all; other options are wrong with all bytes.
      if (error instanceof SketchError && bytes < mostBytes) return false
      throw error
    }
  }
  if (!enough(mostBytes)) throw new SketchError('ERR_SKETCH_VALUE', 'error: it needs more than 2 GB')
  let [less, bytes] = [0, mostBytes]
  while (bytes - less > 1) {
    const middle = Math.floor((less + bytes) / 2)
    if (enough(middle)) bytes = middle
    else less = middle
  }
  return bytes
}

function rowsFor(confidence: number, most: number): number {
  const rows = Math.max(1, Math.ceil(-Math.log(1 - confidence) - 1e-9))
  if (rows <= most) return rows
  throw new SketchError('ERR_SKETCH_VALUE', `confidence: ${confidence} needs ${rows} rows, ${most} are the most`)
}

function confidenceOf(confidence: number = 0.95): number {
  return confidence === 1 ? 1 : between('confidence', confidence, 0, 1)
}

function atLeastOne(name: string, value: number): number {
  if (value >= 1 && value < Number.POSITIVE_INFINITY) return value
  throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${value} is not a finite number from 1 on`)
}
