/** Ranks of a command: started by a launcher, by hand, or by `--procs`; all hear of a failure, and one of them says it. */
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
    .option('--procs <n>', 'start so many ranks on this host (default: none, a launcher has)')
    .option('--rank <r>', 'which rank this process is (default: what the launcher says)')
    .option('--ranks <n>', 'how many ranks there are (default: what the launcher says)')
    .option('--meet <host:port>', 'where rank 0 is (default: what the launcher says)')
    .option('--timeout <seconds>', 'until all ranks are there, and for what must come (default: 60)')
    .option('--pin <how>', 'auto: a core for each rank, if there are enough; none', 'auto')
}

export interface Launched {
  group: Group
  /** Milliseconds that what must come may take. */
  timeoutMs: number
  /** Whether each rank shall have a core. */
  pin: boolean
}

/**
 * Runs `part` at each rank, which gives its exit code, and leaves the group. `settings` must be the same at all ranks. In a process
 * that starts the ranks itself, they do.
 */
export async function withRanks(
  options: LaunchOptions,
  settings: Readonly<Record<string, unknown>>,
  part: (launched: Launched) => Promise<number>,
): Promise<void> {
  const timeoutMs = parseNumber('--timeout', options.timeout, 60, 1, 86_400) * 1000
  if (options.pin !== 'auto' && options.pin !== 'none') throw wrongValue('--pin', options.pin, ['auto', 'none'], 'none')
  // One that --procs has started has its rank from there.
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

/** The part of a rank other than 0, which prints nothing: its exit code. */
export async function obey(follow: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const interruption = interruptible('')
  try {
    await follow(interruption.signal)
    return interruption.exitCode() ?? exitCodes.done
  } finally {
    interruption.dispose()
  }
}

/** How long a failure of the verbs waits for its cause: the end of another rank. */
const causeMs = 1000

/** All ranks hear of it; one of them says it. */
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
  // Rank 0 speaks, and the next one for rank 0.
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
