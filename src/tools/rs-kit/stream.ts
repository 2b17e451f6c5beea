/** Settings, tests and results that rstream and riostream share. */
import { countOf, type StreamRow, sizeText } from './figures.ts'
import type { SessionSettings } from './session.ts'
import type { CommonResult } from './settings.ts'

export const rstreamPort = 7471

export interface StreamSettings extends SessionSettings {
  /** Sizes of the tests; undefined: one test with the settings below. */
  sizes?: readonly number[] | undefined
  iterations: number
  transferCount: number
  transferSize: number
  /** Bytes of the send and receive buffer; 0: 512 KiB. */
  bufferBytes: number
  inlineBytes: number
  keepAliveSeconds?: number | undefined
  verify: boolean
}

export interface StreamResult extends CommonResult {
  socket: 'rsocket' | 'tcp'
  rows: StreamRow[]
}

export interface StreamTest {
  name: string
  size: number
  transfers: number
  iterations: number
}

/** Returns the tests of a run, by connection. */
export function testsOf({ sizes, iterations, transferCount, transferSize }: StreamSettings): StreamTest[][] {
  if (sizes === undefined) return [[{ name: 'custom', size: transferSize, transfers: transferCount, iterations }]]
  return [
    sizes.map((size) => ({ name: `${shortText(size)}_lat`, size, transfers: 1, iterations: countOf(size) })),
    sizes.map((size) => ({ name: `${shortText(size)}_bw`, size, transfers: countOf(size), iterations: 1 })),
  ]
}

/** Returns the first four characters of a size, as the originals print it. */
function shortText(size: number): string {
  return sizeText(size).slice(0, 4)
}
