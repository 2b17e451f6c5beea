/** Context of hooks in a running gateway: files, hashes, the clock. */
import { hashOf } from '../host/index.ts'
import type { HookContext, HookOutput, Signal, Statistics } from '../index.ts'
import { OutputFile } from '../nodes/index.ts'
import type { LogLevel } from './messages.ts'

export interface HookOwner {
  /** Name of the owner: "node source_1", "path 2". */
  owner: string
  /** Signals of the samples that come in. */
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
  return { ...owner, open: (path) => openOutput(path, owner), hash: hashOf }
}

function openOutput(path: string, { log }: HookOwner): HookOutput {
  if (path === 'stdout') return OutputFile.standardOutput(0)
  const file = OutputFile.open(path, { bufferBytes: 0, append: false })
  return {
    write(bytes) {
      const before = file.dropped
      file.write(bytes)
      if (before === 0 && file.dropped > 0)
        log('warn', `${path} is a FIFO that nobody reads, or not fast enough: what is written to it is lost`)
    },
    close: () => void file.close(),
  }
}
