/** Ranks of this host, started by a parent that is no rank: what `mpirun -np N` does, where there is none. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'

export interface LocalRanks {
  /** How many. */
  size: number
  /** Of each process: options of Node, a module, its arguments. */
  args: readonly string[]
  /** Each line that a rank other than 0 writes to stderr, and what became of a rank that was killed. */
  onLine(rank: number, line: string): void
}

/** When one has failed, the others are asked to end: they may still wait for one that never joined. Then they are ended. */
const askMs = 2000
const graceMs = 10_000
/** How long after SIGINT ranks may take to end by themselves. */
const interruptMs = 2000

/**
 * Starts the ranks; `joinGroup` in them finds the others. Rank 0 has this process's terminal. Resolves when all have ended: 0, or the
 * exit code of the first that failed, 128 and the signal's number for one that was killed. When this process ends, those that have
 * called `joinGroup` or `endWithParent` do.
 */
export async function runRanks({ size, args, onLine }: LocalRanks): Promise<number> {
  const shared = { ...process.env, VERBENA_SIZE: String(size), VERBENA_JOB: random(), VERBENA_KEY: random() }
  const children: ChildProcess[] = []
  let failed = 0
  const timers: NodeJS.Timeout[] = []
  const passOn = (signal: NodeJS.Signals): void => {
    for (const child of children) child.kill(signal)
  }
  let ended = 0
  // The terminal sends Ctrl-C to all processes itself. Where nobody has ended some time later it came to this one only, as SIGTERM does.
  const interrupted = (): void => {
    timers.push(setTimeout(() => ended === 0 && passOn('SIGINT'), interruptMs))
  }
  process.on('SIGINT', interrupted)
  process.on('SIGTERM', passOn)
  try {
    const ends = Array.from({ length: size }, (_, rank) => {
      const child = start(rank, args, { ...shared, VERBENA_RANK: String(rank) }, onLine)
      children.push(child)
      return new Promise<void>((resolve) => {
        const end = (code: number): void => {
          ended++
          if (code !== 0 && failed === 0) {
            failed = code
            timers.push(
              setTimeout(() => passOn('SIGTERM'), askMs),
              setTimeout(() => passOn('SIGKILL'), graceMs),
            )
          }
        }
        child.once('error', (error) => {
          onLine(rank, `cannot be started: ${error.message}`)
          end(1)
          resolve()
        })
        child.once('exit', (code, signal) => {
          if (signal !== null) onLine(rank, `was killed (${signal})`)
          end(signal === null ? code! : 128 + constants.signals[signal])
        })
        // All that it has written has been passed on.
        child.once('close', () => resolve())
      })
    })
    await Promise.all(ends)
    return failed
  } finally {
    for (const timer of timers) clearTimeout(timer)
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', passOn)
  }
}

function start(
  rank: number,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onLine: LocalRanks['onLine'],
): ChildProcess {
  const output = rank === 0 ? 'inherit' : 'ignore'
  const child = spawn(process.execPath, args, {
    ...{ env, stdio: [output, output, rank === 0 ? 'inherit' : 'pipe', 'ipc'] },
  })
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => onLine(rank, line))
  return child
}

let bound = false

/**
 * In a process that `runRanks` may have started: ends it when its parent is gone. `joinGroup` calls it; for programs that have much to do
 * before.
 */
export function endWithParent(): void {
  if (bound || process.env.VERBENA_RANK === undefined || !process.channel) return
  bound = true
  process.on('disconnect', () => process.exit(1))
  process.channel.unref()
}

function random(): string {
  return randomBytes(16).toString('hex')
}
