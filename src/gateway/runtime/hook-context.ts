/** What hooks may use here: files, hashes, the clock. */
import { hashOf } from '../host/index.ts'
import type { HookContext, HookOutput, Signal, Statistics } from '../index.ts'
import { OutputFile } from '../nodes/index.ts'
import type { LogLevel } from './messages.ts'

export interface HookOwner {
  /** "node source_1", "path 2". */
  owner: string
  /** Of the samples that come in. */
  signals: readonly Signal[]
  /** Values that a sample has room for. */
  values: number
  stamp: HookContext['stamp']
  nowNs: HookContext['nowNs']
  log(level: LogLevel, line: string): void
  restart?(): void
  place?: 'path' | 'in' | 'out'
  initialSequence?: number
  publish?(statistics: Statistics): void
}

export function hookContext(owner: HookOwner): HookContext {
  return { ...owner, open: openOutput, hash: hashOf }
}

function openOutput(path: string): HookOutput {
  return path === 'stdout' ? OutputFile.standardOutput(0) : OutputFile.open(path, { bufferBytes: 0, append: false })
}
