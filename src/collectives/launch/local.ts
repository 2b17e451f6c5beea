/** Ranks of this host, started by a parent that is no rank: what `mpirun -np N` does, where there is none. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import { killWithParent } from '../../memory/index.ts'

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
/** Those that have been interrupted or asked to end may have much to save: both come this much later, from that signal on. */
const saveMs = 60_000
/** What this process gets and its ranks do not: they are in sessions of their own. */
const passedOn: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGCONT']

/**
 * Starts the ranks; `joinGroup` in them finds the others. Rank 0 has this process's terminal. Resolves when all have ended: 0, or the
 * exit code of the first that failed, 128 and the signal's number for one that was killed. Ranks get each SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT of this process once, whether it came from the terminal or from another process, and stop and continue with it. When one has
 * failed, the others get SIGTERM after 2 s and SIGKILL after 10 s; both come later where this process has had SIGINT or SIGTERM before,
 * 62 and 70 s after that. When this process ends, or the thread of it that called this, those that have called `joinGroup` or
 * `endWithParent` do.
 */
export async function runRanks({ size, args, onLine }: LocalRanks): Promise<number> {
  const shared = {
    ...process.env,
    VERBENA_SIZE: String(size),
    VERBENA_JOB: random(),
    VERBENA_KEY: random(),
    VERBENA_PARENT: String(process.pid),
  }
  const children: ChildProcess[] = []
  let failed = 0
  const timers: NodeJS.Timeout[] = []
  const send = (signal: NodeJS.Signals): void => {
    for (const child of children) child.kill(signal)
  }
  let toldMs = Number.NEGATIVE_INFINITY
  const passOn = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGINT' || signal === 'SIGTERM') toldMs = performance.now()
    send(signal)
  }
  const stop = (): void => {
    // SIGTSTP does nothing in a session without a terminal.
    send('SIGSTOP')
    process.kill(process.pid, 'SIGSTOP')
  }
  for (const signal of passedOn) process.on(signal, passOn)
  process.on('SIGTSTP', stop)
  try {
    const ends = Array.from({ length: size }, (_, rank) => {
      const child = start(rank, args, { ...shared, VERBENA_RANK: String(rank) }, onLine)
      children.push(child)
      return new Promise<void>((resolve) => {
        const end = (code: number): void => {
          if (code === 0 || failed !== 0) return
          failed = code
          const laterMs = Math.max(0, toldMs + saveMs - performance.now())
          timers.push(setTimeout(send, laterMs + askMs, 'SIGTERM'), setTimeout(send, laterMs + graceMs, 'SIGKILL'))
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
    for (const signal of passedOn) process.off(signal, passOn)
    process.off('SIGTSTP', stop)
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
    // What the terminal sends to all of its processes would come twice, or only to some.
    ...{ env, detached: true, stdio: [output, output, rank === 0 ? 'inherit' : 'pipe', 'ipc'] },
  })
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => onLine(rank, line))
  return child
}

let bound = false

/**
 * In a process that `runRanks` may have started: ends it when its parent is gone. `joinGroup` calls it; for programs that have much to do
 * before. On Linux with koffi the kernel kills it, whatever it does; what it has for its exit does not run then. Elsewhere it ends when it next looks at its events, which a rank
 * in blocking calls alone never does.
 */
export function endWithParent(): void {
  if (bound || process.env.VERBENA_RANK === undefined || !process.channel) return
  bound = true
  process.on('disconnect', () => process.exit(1))
  process.channel.unref()
  killWithParent()
  // It may have gone before.
  if (isGone(Number(process.env.VERBENA_PARENT))) process.exit(1)
}

/** There may be a process between the two that has the module run, such as one that compiles it. */
function isGone(parent: number): boolean {
  if (!(parent > 0) || process.ppid === parent) return false
  try {
    process.kill(parent, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function random(): string {
  return randomBytes(16).toString('hex')
}
