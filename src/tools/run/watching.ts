/** The options that report what programs do: --explain, --trace, --counters, --json. */
import { openSync } from 'node:fs'
import type { WatchSettings } from '../../run/programs/index.ts'
import { UsageError } from '../kit/index.ts'

export interface WatchOptions {
  explain?: boolean
  /** Name of a file; empty for standard error. */
  trace?: string
  counters?: boolean
  json?: boolean
}

const standardError = 2

/** Returns the requested reports; null if there are none, so that none is prepared. */
export function watchSettings({
  explain = false,
  trace,
  counters = false,
  json = false,
}: WatchOptions): WatchSettings | null {
  if (json && trace === undefined && !counters)
    throw new UsageError('--json', 'it says how a trace or counters are written: add --trace or --counters')
  if (!explain && trace === undefined && !counters) return null
  const traced = trace === undefined ? null : trace === '' ? standardError : open(trace)
  return { explain, json, trace: traced, counters: counters ? standardError : null }
}

function open(file: string): number {
  try {
    return openSync(file, 'w')
  } catch (error) {
    throw new UsageError('--trace', `${file} cannot be written: ${(error as Error).message}`)
  }
}
