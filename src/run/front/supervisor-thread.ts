/** Thread of a supervisor: a module that knows doors calls it, and `launch` starts that module. */
import { writeSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { atExitLast, letThreadRest, thisProcessor } from '../../memory/index.ts'
import type { Door, SysfsTree } from '../door.ts'
import type { NumberRange } from './numbers.ts'
import { OpenFiles } from './open-files.ts'
import { advance, awaitState, State, Word } from './shared-state.ts'
import { reasonOf, supervise } from './supervisor.ts'

export interface SupervisorData {
  readonly words: Int32Array
  readonly wake: number
  readonly ranges: readonly NumberRange[]
  readonly verbose: boolean
  /** Folder from `folderPath`. */
  readonly folder: string
  /** Settings for `open`. */
  readonly settings: unknown
}

export interface Served {
  readonly doors: readonly Door[]
  readonly sysfs: SysfsTree
  /** Called when a device could not be opened, or a call on one has failed whose door does not report that itself. */
  readonly onRefused?: (pid: number, reason: string) => void
  /** Called when all programs have ended, and the doors are closed. */
  readonly ended?: () => void
}

/** Writes a line synchronously in this thread: streams of a worker write from an event loop, in which this one never is. */
function sayNow(text: string): void {
  try {
    writeSync(2, `verbena run: ${text}\n`)
  } catch {
    // The stream is closed, or not read at the moment.
  }
}

/** Resolves with the message of `launch` to this thread, which may have been started before. */
const given = (): Promise<SupervisorData> => new Promise((resolve) => parentPort!.once('message', resolve))

/** Opens doors, supervises programs until all have ended, and closes the doors. `open` gets the settings that `launch` was given. */
export async function runSupervisor<Settings>(
  open: (settings: Settings) => Served | Promise<Served>,
  say: (text: string) => void = sayNow,
): Promise<void> {
  letThreadRest()
  // After the exit handlers of other modules: `launch` need not wait until Node.js has taken this thread down.
  atExitLast(() => parentPort!.postMessage('ended'))
  const { words, wake, ranges, verbose, folder, settings } = await given()
  // First, since it needs a watcher of files, of which a user has few; doors do without.
  const files = new OpenFiles((path, error) => say(`${path}: ${reasonOf(error)}`))
  const { doors, sysfs, onRefused, ended } = await open(settings as Settings)
  advance(words, State.opening, State.ready)
  const state = awaitState(words, State.ready)
  if (state !== State.filtered) {
    files.close()
    for (const door of doors) door.close()
    return
  }
  supervise({
    listener: Atomics.load(words, Word.listener),
    wake,
    ends: () => Atomics.load(words, Word.ends) === 1,
    processor: thisProcessor!,
    ...{ ranges, doors, sysfs, files, folder },
    onProblem: say,
    ...(onRefused ? { onRefused } : {}),
    ...(verbose ? { onNote: say } : {}),
  })
  ended?.()
}
