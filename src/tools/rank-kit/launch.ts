/** Ranks of a command: started by a launcher, by hand, or by `--procs`; all are notified of a failure, and one of them prints it. */
import type { Command } from 'commander'
import { currentRun, endWith, exitCodes, interruptible, note } from '../../cli/terminal/index.ts'
import { type Group, GroupError, joinGroup, runRanks } from '../../collectives/launch/index.ts'
import { parseInteger, parseNumber, UsageError, wrongValue } from '../kit/index.ts'

export interface LaunchOptions {
  procs?: string
  rank?: string
  ranks?: string
  meet?: string
  timeout?: string
  pin: string
}

export function addLaunchOptions(command: Command): Command {
  return command
    .option('--procs <n>', 'start this number of ranks on this host (default: none, a launcher has)')
    .option('--rank <r>', 'rank of this process (default: that of the launcher)')
    .option('--ranks <n>', 'number of ranks (default: that of the launcher)')
    .option('--meet <host:port>', 'address of rank 0 (default: that of the launcher)')
    .option('--timeout <seconds>', 'time limit until all ranks have started, and for each message (default: 60)')
    .option('--pin <how>', 'auto: a core for each rank, if there are enough; none', 'auto')
}

export interface Launched {
  group: Group
  /** Milliseconds that an awaited message may take. */
  timeoutMs: number
  /** True if each rank is pinned to a core of its own. */
  pin: boolean
}

/**
 * Runs `part` at each rank, which returns its exit code, and leaves the group. `settings` must be the same at all ranks. A process
 * that starts the ranks itself does not run `part`; the started ranks do.
 */
export async function withRanks(
  options: LaunchOptions,
  settings: Readonly<Record<string, unknown>>,
  part: (launched: Launched) => Promise<number>,
): Promise<void> {
  const timeoutMs = parseNumber('--timeout', options.timeout, 60, 1, 86_400) * 1000
  if (options.pin !== 'auto' && options.pin !== 'none') throw wrongValue('--pin', options.pin, ['auto', 'none'], 'none')
  // A rank that --procs has started receives its number from the environment.
  if (options.procs !== undefined && process.env.VERBENA_RANK === undefined) {
    if (options.rank !== undefined)
      throw new UsageError('--rank', 'the processes that --procs starts have ranks already: give one of them')
    endWith(await startRanks(parseInteger('--procs', options.procs, 1, 2, 256)))
    return
  }
  const interruption = interruptible('')
  const group = await joinGroup({
    rank: numberOf('--rank', options.rank),
    size: numberOf('--ranks', options.ranks),
    ...{ meet: options.meet, timeoutMs, signal: interruption.signal },
    settings: { ...settings, timeoutMs },
  }).finally(() => interruption.dispose())
  if (group.size < 2)
    throw new UsageError(
      '--procs',
      'one rank has nobody to talk to: start at least two, with --procs 2, or with mpirun -np 2',
    )
  try {
    endWith(await part({ group, timeoutMs, pin: options.pin === 'auto' }))
  } catch (error) {
    endWith(await giveUp(group, error))
  } finally {
    await group.close()
  }
}

/** Runs the part of a rank other than 0, which prints nothing; returns its exit code. */
export async function obey(follow: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const interruption = interruptible('')
  try {
    await follow(interruption.signal)
    return interruption.exitCode() ?? exitCodes.done
  } finally {
    interruption.dispose()
  }
}

/** Milliseconds that a failure of the verbs waits for its cause: the end of another rank. */
const causeMs = 1000

/** Notifies all ranks of a failure; one of them prints it. */
async function giveUp(group: Group, error: unknown): Promise<number> {
  if (!group.signal.aborted && !(error instanceof UsageError || error instanceof GroupError))
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, causeMs)
      group.signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve(undefined)
      })
    })
  const cause = (group.signal.reason as GroupError | undefined) ?? error
  group.fail((cause as Error).message)
  // Rank 0 prints the failure, and the next one if rank 0 has failed.
  if (group.rank === 0 || (group.rank === 1 && cause instanceof GroupError && cause.rank === 0)) throw cause
  return exitCodes.failed
}

async function startRanks(size: number): Promise<number> {
  const [, script] = process.argv
  return await runRanks({
    size,
    args: [...process.execArgv, script!, ...currentRun().argv],
    onLine: (rank, line) => note(`rank ${rank}: ${line}`),
  })
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseInteger(flag, text, 0, 0, 4096)
}
