/**
 * Window in bytes, as agents send it and files keep it, little-endian:
 *
 *     0   'VMON'
 *     4   version
 *     5   length of the description (4 bytes), its CRC-32 as zlib has it (4 bytes), and the description: JSON in UTF-8
 *     …   each sketch after its length (4 bytes), in the order of `sketchNames`, then those of flows' latencies
 *
 * Sketches have checksums and checks of their own. Data of another machine is checked before any of it is used.
 */
import { type DDSketch, type Sketch, SketchError, sketchLike } from '../sketch/index.ts'
import { crcUpdate } from '../wire/index.ts'
import { type Burst, burstOnly, isBurst, mostBursts } from './burst.ts'
import {
  leastSketchBytes,
  mostMs,
  mostSketchBytes,
  mostWindowMs,
  planDifference,
  type WindowPlan,
  windowVersion,
} from './config.ts'
import { MonitorError } from './error.ts'
import { counterNames } from './events.ts'
import { fieldNames, flowName, isFlowName, keyWords } from './key.ts'
import { isMessage, type Message, messageOnly, mostMessages } from './messages.ts'
import { isPort } from './pause.ts'
import { isName, mostName } from './text.ts'
import {
  latencySketch,
  mostFlowLatencies,
  mostParts,
  mostPausedBy,
  mostSmallBytes,
  mostSourceQps,
  type Part,
  pauseClasses,
  sketchesOf,
  sketchNames,
  Window,
  type WindowSketches,
} from './window.ts'

const magic = [0x56, 0x4d, 0x4f, 0x4e]
const headLength = 13
/** Maximum length of the description of windows that were merged from many. */
const mostDescription = 2 ** 24
/** Maximum number of bytes of a name as JSON: three for a character, or two for one that is escaped. */
const nameBytes = 3 * mostName + 3
const numberBytes = 25
/** Maximum length of the lists of one agent's window. */
const mostOwnDescription =
  (counterNames.length + 2 * pauseClasses + 16) * 2 * numberBytes +
  (2 * nameBytes + 64) +
  mostPausedBy * (nameBytes + 64 + 2 * pauseClasses * numberBytes) +
  mostSourceQps * (11 * 12 + 16) +
  mostFlowLatencies * keyWords * 12 +
  mostBursts * (nameBytes + fieldNames.length * (nameBytes + 20) + 16 * numberBytes) +
  2 * mostMessages * (keyWords * 12 + 12 * numberBytes)

/** Returns the maximum number of bytes of a window: of one agent with this plan, or of any that is saved. */
export function mostWindowBytes(plan?: Pick<WindowPlan, 'sketchBytes'>): number {
  const [description, sketchBytes] =
    plan === undefined ? [mostDescription, mostSketchBytes] : [mostOwnDescription, plan.sketchBytes]
  return headLength + description + sketchBytes + mostSmallBytes
}

interface Description {
  windowMs: number
  sketchBytes: number
  seed: string
  index: number
  span: number
  parts: Part[]
  counters: Record<string, number>
  pauses: number[]
  pausedBy: [string, number[]][]
  sourceQps: [string, number][]
  latencyKeys: number[][]
  bursts: Burst[]
  largest: Message[]
  slowest: Message[]
}

const wrong = (what: string): MonitorError => new MonitorError('ERR_MONITOR_BYTES', `not a window: ${what}`)

/** Returns the window as bytes, for another process or a file. */
export function encodeWindow(window: Window): Uint8Array {
  const { plan } = window
  const latencies = [...window.flowLatencies.values()]
  const description: Description = {
    ...{ windowMs: plan.windowMs, sketchBytes: plan.sketchBytes, seed: hexOf(plan.seed) },
    ...{ index: window.index, span: window.span, parts: window.parts },
    counters: Object.fromEntries(Object.entries(window.totals()).filter(([, count]) => count > 0)),
    pauses: [...window.pauses],
    pausedBy: [...window.pausedBy].map(([port, pauses]) => [port, [...pauses]]),
    sourceQps: [...window.sourceQps],
    latencyKeys: latencies.map(({ key }) => [...key]),
    bursts: window.bursts,
    largest: window.largest.list,
    slowest: window.slowest.list,
  }
  const text = new TextEncoder().encode(JSON.stringify(description))
  const parts = [...sketchNames.map((name) => window.sketches[name]), ...latencies.map(({ sketch }) => sketch)].map(
    (sketch: Sketch) => sketch.toBytes(),
  )
  const bytes = new Uint8Array(headLength + text.length + parts.reduce((sum, part) => sum + 4 + part.length, 0))
  const view = new DataView(bytes.buffer)
  bytes.set(magic)
  bytes[4] = plan.version
  view.setUint32(5, text.length, true)
  view.setInt32(9, crcOf(text), true)
  bytes.set(text, headLength)
  let at = headLength + text.length
  for (const part of parts) {
    view.setUint32(at, part.length, true)
    bytes.set(part, at + 4)
    at += 4 + part.length
  }
  return bytes
}

/** Returns the window in these bytes. Throws ERR_MONITOR_BYTES. */
export function decodeWindow(bytes: Uint8Array): Window {
  const { description, at } = readDescription(bytes)
  const plan: WindowPlan = {
    ...{ version: windowVersion, windowMs: description.windowMs, sketchBytes: description.sketchBytes },
    seed: seedOf(description.seed),
  }
  // Sketches of a plan fill most of its memory: no more is reserved than has come.
  if (bytes.length < plan.sketchBytes / 2) throw wrong('it ends too soon')
  const latency = latencySketch()
  const sketches = readSketches(bytes, at, [...emptyOf(plan), ...description.latencyKeys.map(() => latency)])
  const own = Object.fromEntries(sketchNames.map((name, i) => [name, sketches[i]])) as unknown as WindowSketches
  const window = new Window(plan, description.index, own)
  window.span = description.span
  for (const { agent, run, sequence } of description.parts) window.parts.push({ agent, run, sequence })
  for (const [i, name] of counterNames.entries()) window.counters[i] = countOf(description.counters[name] ?? 0)
  for (const [i, value] of description.pauses.entries()) window.pauses[i] = countOf(value)
  for (const [port, pauses] of description.pausedBy) window.pausesOf(port)!.set(pauses.map(countOf))
  for (const [name, qp] of description.sourceQps) window.sourceQps.set(name, qp)
  window.bursts = description.bursts.map(burstOnly)
  for (const message of description.largest) window.largest.add(messageOnly(message))
  for (const message of description.slowest) window.slowest.add(messageOnly(message))
  for (const [i, words] of description.latencyKeys.entries()) {
    const sketch = sketches[sketchNames.length + i] as DDSketch
    const key = Int32Array.from(words)
    window.flowLatencies.set(flowName(key), { key, sketch })
  }
  return window
}

/** Returns the plan and the parts of a window, without reading its sketches. Throws ERR_MONITOR_BYTES. */
export function describeWindow(bytes: Uint8Array): { plan: WindowPlan; index: number; span: number; parts: Part[] } {
  if (bytes.length > headLength && magic.every((byte, i) => bytes[i] === byte) && bytes[4] !== windowVersion) {
    const plan = { version: bytes[4]!, windowMs: 0, sketchBytes: 0, seed: new Uint8Array(16) }
    return { plan, index: 0, span: 0, parts: [] }
  }
  const { windowMs, sketchBytes, seed, index, span, parts } = readDescription(bytes).description
  return { plan: { version: windowVersion, windowMs, sketchBytes, seed: seedOf(seed) }, index, span, parts }
}

function readDescription(bytes: Uint8Array): { description: Description; at: number } {
  if (bytes.length < headLength || magic.some((byte, i) => bytes[i] !== byte))
    throw wrong('it does not begin with VMON')
  if (bytes[4] !== windowVersion) throw wrong(`version ${bytes[4]}, this program reads version ${windowVersion}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const length = view.getUint32(5, true)
  if (length > mostDescription || headLength + length > bytes.length) throw wrong('it ends too soon')
  const text = bytes.subarray(headLength, headLength + length)
  if (view.getInt32(9, true) !== crcOf(text)) throw wrong('the checksum of its description is wrong')
  let description: Description
  try {
    description = JSON.parse(new TextDecoder().decode(text)) as Description
  } catch {
    throw wrong('its description is no JSON')
  }
  const reason = problemOf(description)
  if (reason !== undefined) throw wrong(reason)
  return { description, at: headLength + length }
}

const isWhole = (value: unknown, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most
const isList = (value: unknown, most: number): value is unknown[] => Array.isArray(value) && value.length <= most

function problemOf(one: Description): string | undefined {
  if (typeof one !== 'object' || one === null) return 'its description is no object'
  if (!isWhole(one.windowMs, mostWindowMs) || one.windowMs === 0) return 'its length is impossible'
  if (!isWhole(one.sketchBytes, mostSketchBytes) || one.sketchBytes < leastSketchBytes)
    return 'its memory is impossible'
  if (typeof one.seed !== 'string' || !/^[0-9a-f]{32}$/.test(one.seed)) return 'its seed is impossible'
  if (!isWhole(one.index, mostMs) || !isWhole(one.span, mostMs) || one.span === 0) return 'its time is impossible'
  if ((one.index + one.span) * one.windowMs > mostMs) return 'its time is impossible'
  if (!isList(one.parts, mostParts) || !one.parts.every(isPart)) return 'its parts are impossible'
  if (typeof one.counters !== 'object' || one.counters === null) return 'it has no counters'
  if (!isList(one.pauses, 2 * pauseClasses)) return 'its pauses are impossible'
  if (!isList(one.pausedBy, mostPausedBy) || !one.pausedBy.every(isPausedBy)) return 'its pauses are impossible'
  if (!isList(one.sourceQps, mostSourceQps) || !one.sourceQps.every(isSourceQp)) return 'its source QPs are impossible'
  if (!isList(one.latencyKeys, mostFlowLatencies) || !one.latencyKeys.every(isKey))
    return 'its latencies are impossible'
  if (!isList(one.bursts, mostBursts) || !one.bursts.every(isBurst)) return 'its bursts are impossible'
  for (const list of [one.largest, one.slowest])
    if (!isList(list, mostMessages) || !list.every(isMessage)) return 'its messages are impossible'
  return undefined
}

function isPart(value: unknown): value is Part {
  const { agent, run, sequence } = (value ?? {}) as Partial<Part>
  return isName(agent) && isName(run) && isWhole(sequence, 2 ** 50)
}

function isSourceQp(value: unknown): boolean {
  return isList(value, 2) && isFlowName(value[0]) && isWhole(value[1], 0xffffff)
}

function isPausedBy(value: unknown): boolean {
  return isList(value, 2) && isPort(value[0]) && isList(value[1], 2 * pauseClasses)
}

function isKey(value: unknown): boolean {
  return isList(value, keyWords) && value.length === keyWords && value.every((word) => Number.isInteger(word))
}

function countOf(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value
  throw wrong('a counter is impossible')
}

/** Reads sketches of the same shape as `likes`. */
function readSketches(bytes: Uint8Array, start: number, likes: readonly Sketch[]): Sketch[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const sketches: Sketch[] = []
  let at = start
  for (const like of likes) {
    const length = at + 4 <= bytes.length ? view.getUint32(at, true) : 0
    if (length === 0 || at + 4 + length > bytes.length) throw wrong('it ends too soon')
    try {
      sketches.push(sketchLike(bytes.subarray(at + 4, at + 4 + length), like))
    } catch (error) {
      throw error instanceof SketchError ? wrong(error.message) : error
    }
    at += 4 + length
  }
  if (at !== bytes.length) throw wrong('there are bytes behind its end')
  return sketches
}

/** Empty sketches of the plan of the last window: nearly all windows have the same. */
let empty: { plan: WindowPlan; own: Sketch[] } | undefined

function emptyOf(plan: WindowPlan): Sketch[] {
  if (empty === undefined || planDifference(empty.plan, plan) !== undefined) {
    const sketches = sketchesOf(plan)
    empty = { plan, own: sketchNames.map((name) => sketches[name]) }
  }
  return empty.own
}

function crcOf(bytes: Uint8Array): number {
  return ~crcUpdate(-1, bytes, 0, bytes.length)
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function seedOf(hex: string): Uint8Array {
  return Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16))
}
