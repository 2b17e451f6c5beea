/** Memory of a monitor, and the properties that two monitors must have in common so that their windows can be merged. */
import { randomSeed, type SeedLike } from '../sketch/index.ts'
import { MonitorError } from './error.ts'

/** Properties that windows must have in common to be merged. An agent gets them from its collector. */
export interface WindowPlan {
  /** Version of the encoding of windows, and of their meaning. */
  version: number
  /** Milliseconds, a whole number. */
  windowMs: number
  /** Memory of the sketches of one window, in bytes. */
  sketchBytes: number
  /** Seed of all sketches: keep it secret from peers that can choose keys. */
  seed: Uint8Array
}

/** Plan, and the memory besides. */
export interface MonitorConfig extends WindowPlan {
  /** Memory for the state of flows, and for their outstanding requests, in bytes. */
  followBytes: number
}

/** Options from which a configuration is made. */
export interface MonitorOptions {
  /** Seconds (default 1). */
  windowSeconds?: number
  /** Bytes of all memory that grows with traffic (default 32 MiB). A quarter of it is for windows: one 32nd for the sketches of each. */
  memoryBytes?: number
  seed?: SeedLike
}

/** Version of the format and the meaning of windows. Monitors of different versions are not merged. */
export const windowVersion = 3
/** Minimum memory of the sketches of a window, in bytes: less would have no room for anything. */
export const leastSketchBytes: number = 2 ** 15
const windowsInMemory = 32
const leastMemory = windowsInMemory * leastSketchBytes
const mostMemory = 2 ** 34
export const mostSketchBytes: number = mostMemory / windowsInMemory
export const mostWindowMs = 3_600_000
/** Milliseconds since 1970 of the last time that has a date (ECMAScript, "Time Values and Time Range"). */
export const mostMs = 8.64e15
/** Memory of a flow, its state here and the smallest ring of its outstanding requests, in bytes. */
export const flowBytes = 3072

/** Returns a configuration. Throws ERR_MONITOR_VALUE, naming the option. */
export function monitorConfig({ windowSeconds = 1, memoryBytes = 2 ** 25, seed }: MonitorOptions = {}): MonitorConfig {
  const windowMs = Math.round(windowSeconds * 1000)
  if (!(windowMs >= 10 && windowMs <= mostWindowMs))
    throw new MonitorError('ERR_MONITOR_VALUE', `windowSeconds: ${windowSeconds} is not from 0.01 to 3600`)
  if (!(memoryBytes >= leastMemory && memoryBytes <= mostMemory))
    throw new MonitorError(
      'ERR_MONITOR_VALUE',
      `memoryBytes: ${memoryBytes} is not from ${leastMemory} to ${mostMemory}`,
    )
  return {
    ...{ version: windowVersion, windowMs },
    sketchBytes: Math.floor(memoryBytes / windowsInMemory),
    followBytes: Math.floor((memoryBytes * 3) / 4),
    seed: seedBytesOf(seed),
  }
}

/** Returns 16 bytes: those given, a number's, or random ones. */
function seedBytesOf(seed: SeedLike | undefined): Uint8Array {
  if (seed === undefined) return randomSeed()
  if (typeof seed !== 'number') {
    if (seed.length === 16) return seed.slice()
    throw new MonitorError('ERR_MONITOR_VALUE', `seed: ${seed.length} bytes are not 16`)
  }
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new MonitorError('ERR_MONITOR_VALUE', `seed: ${seed} is not a whole number from 0 to 2^53 − 1`)
  const bytes = new Uint8Array(16)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, seed >>> 0, true)
  view.setUint32(4, Math.floor(seed / 2 ** 32), true)
  return bytes
}

/** Returns the reason why windows of these plans cannot be merged, as text; undefined if they can. */
export function planDifference(a: WindowPlan, b: WindowPlan): string | undefined {
  if (a.version !== b.version) return `its windows have version ${b.version}, and those here version ${a.version}`
  if (a.windowMs !== b.windowMs) return `its windows last ${b.windowMs / 1000} s, and those here ${a.windowMs / 1000} s`
  if (a.sketchBytes !== b.sketchBytes)
    return `its sketches have ${b.sketchBytes} bytes, and those here ${a.sketchBytes}`
  if (a.seed.some((byte, i) => b.seed[i] !== byte)) return 'its sketches have another seed'
  return undefined
}
