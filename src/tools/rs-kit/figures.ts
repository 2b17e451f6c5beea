/** Sizes and counts as the originals write them, and their measurements. */

/** Returns `64`, `1.5k`, `1m`: in powers of 1024, with a decimal below 10 where there is one. */
export function sizeText(bytes: number): string {
  const [base, unit] =
    bytes >= 2 ** 30 ? [2 ** 30, 'g'] : bytes >= 2 ** 20 ? [2 ** 20, 'm'] : bytes >= 1024 ? [1024, 'k'] : [1, '']
  const whole = Math.floor(bytes / base)
  const tenths = whole < 10 ? Math.floor(((bytes % base) * 10) / base) : 0
  return tenths > 0 ? `${whole}.${tenths}${unit}` : `${whole}${unit}`
}

/** Returns `100`, `10k`, `1m`, `2b`: cut off, not rounded. */
export function countText(count: number): string {
  if (count >= 1e9) return `${Math.floor(count / 1e9)}b`
  if (count >= 1e6) return `${Math.floor(count / 1e6)}m`
  if (count >= 1e3) return `${Math.floor(count / 1e3)}k`
  return String(count)
}

/** Returns the number of messages of this size that a test sends. */
export function countOf(bytes: number): number {
  if (bytes >= 1 << 20) return 100
  if (bytes >= 1 << 16) return 1000
  return bytes >= 1 << 10 ? 10_000 : 100_000
}

/** Sizes of the usual tests, and of `-S all`. */
export const usualSizes: readonly number[] = [1 << 6, 1 << 12, 1 << 16, 1 << 20]
export const allSizes: readonly number[] = [
  64,
  ...Array.from({ length: 16 }, (_, i) => [1 << (7 + i), (1 << (7 + i)) + (1 << (6 + i))]).flat(),
]

/** Data of `-T v`: bytes that count up, from one message to the next. */
export class Pattern {
  #next = 0
  #position = 0

  fill(bytes: Uint8Array): void {
    let next = this.#next
    for (let i = 0; i < bytes.length; i++) bytes[i] = next++
    this.#next = next & 255
  }

  /** Returns the position in the stream of the first byte that is wrong; −1 if all are right. */
  wrongByte(bytes: Uint8Array): number {
    let next = this.#next
    for (let i = 0; i < bytes.length; i++) {
      if (bytes[i] !== (next & 255)) return this.#position + i
      next++
    }
    this.#next = next & 255
    this.#position += bytes.length
    return -1
  }
}

export interface StreamRow {
  /** Name such as `64_lat`, `1m_bw`, `custom`. */
  name: string
  /** Bytes of each transfer. */
  size: number
  transfers: number
  iterations: number
  /** Bytes of both directions together. */
  bytes: number
  seconds: number
  gbitPerSec: number
  usecPerTransfer: number
}

export function streamRow(name: string, size: number, transfers: number, iterations: number, ms: number): StreamRow {
  const bytes = iterations * transfers * size * 2
  return {
    name,
    size,
    transfers,
    iterations,
    bytes,
    seconds: ms / 1000,
    gbitPerSec: (bytes * 8) / (ms * 1e6),
    usecPerTransfer: (ms * 1000) / iterations / (transfers * 2),
  }
}

export const streamHeading: string = [
  ...['name', 'bytes', 'xfers', 'iters', 'total'].map((text, i) => text.padEnd(i === 0 ? 10 : 8)),
  'time'.padStart(8),
  ' ',
  'Gb/sec'.padStart(10),
  'usec/xfer'.padStart(13),
].join('')

export function streamLine({
  name,
  size,
  transfers,
  iterations,
  bytes,
  seconds,
  gbitPerSec,
  usecPerTransfer,
}: StreamRow): string {
  const texts = [sizeText(size), countText(transfers), countText(iterations), sizeText(bytes)]
  const figures = [`${seconds.toFixed(2).padStart(8)}s`, gbitPerSec.toFixed(2).padStart(10)]
  return [
    name.padEnd(10),
    ...texts.map((text) => text.padEnd(8)),
    ...figures,
    usecPerTransfer.toFixed(2).padStart(11),
  ].join('')
}
