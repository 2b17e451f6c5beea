/** Code that the commands share: the root of the tree that they read, notes about problems, and waiting. */
import { statSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import type { Command } from 'commander'
import { note } from '../../cli/terminal/index.ts'
import type { TreeProblem } from '../../collect/index.ts'
import { UsageError } from '../kit/index.ts'

/** Adds --sysfs-root. */
export function readsTree(command: Command): Command {
  return command.option(
    '--sysfs-root <dir>',
    'read a recorded tree instead: a copy of /sys, or a folder with sys and proc (default: this host)',
  )
}

/** Returns the folder of --sysfs-root, which must exist. */
export function rootOf(folder: string | undefined): { root?: string } {
  if (folder === undefined) return {}
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return { root: folder }
  throw new UsageError('--sysfs-root', `there is no folder '${folder}'`)
}

const mostShown = 10

/** Prints on stderr what could not be read. */
export function noteProblems(problems: readonly TreeProblem[], count: number = problems.length): void {
  if (count === 0) return
  note(`${count === 1 ? 'One file' : `${count} files`} could not be read, or held something else than expected:`)
  for (const { path, what } of problems.slice(0, mostShown)) note(`  ${path} ${what}`)
  if (count > mostShown) note(`  … and ${count - mostShown} more`)
}

/** Resolves at that moment of `performance.now()`, or when the signal is aborted. */
export async function waitUntil(atMs: number, signal: AbortSignal): Promise<void> {
  const ms = atMs - performance.now()
  if (ms > 0 && !signal.aborted) await after(ms, undefined, { signal }).catch(() => {})
}
