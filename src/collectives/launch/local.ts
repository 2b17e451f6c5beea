/** Ranks of this host, started by a parent that is not a rank: a substitute for `mpirun -np N`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import { killWithParent } from '../../memory/index.ts'

export interface LocalRanks {
  /** Number of ranks. */
  size: number
  /** Arguments of each process: options of Node.js, a module, its arguments. */
  args: readonly string[]
  /** Receives each line that a rank other than 0 writes to stderr, and a message about each rank that was killed. */
  onLine(rank: number, line: string): void
}

/**
 * Milliseconds between the failure of a rank and the SIGTERM to the other ranks, which may wait for one that never joined. SIGKILL follows.
 */
const askMs = 2000
const graceMs = 10_000
/**
 * Milliseconds by which both are later for ranks that have received SIGINT or SIGTERM, since they may have much to save; counted from that
 * signal on.
 */
const saveMs = 60_000
/** Signals that this process receives and its ranks do not: they are in sessions of their own. */
const passedOn: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGCONT']

/**
 * Starts the ranks; `joinGroup` connects them. Rank 0 has this process's terminal. Resolves when all ranks have ended: to 0, or to the exit
 * code of the first rank that failed, 128 plus the signal's number for a rank that was killed. Ranks get each SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT of this process once, whether it came from the terminal or from another process, and stop and continue with it. When a rank has
 * failed, the other ranks get SIGTERM after 2 s and SIGKILL after 10 s; if this process has received SIGINT or SIGTERM before, both come
 * later, 62 and 70 s after that signal. When this process ends, or the thread of it that called this function, the ranks that have called
 * `joinGroup` or `endWithParent` end, too.
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
  /** Flag: the rank with that code was killed by another program. */
  let killed = false
  /** Flag: signals were sent to the ranks. */
  let sent = false
  const timers: NodeJS.Timeout[] = []
  const send = (signal: NodeJS.Signals): void => {
    sent = true
    for (const child of children) child.kill(signal)
  }
  let toldMs = Number.NEGATIVE_INFINITY
  const passOn = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGINT' || signal === 'SIGTERM') toldMs = performance.now()
    send(signal)
  }
  const stop = (): void => {
    // SIGTSTP has no effect in a session without a terminal.
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
        const end = (code: number, wasKilled: boolean): void => {
          // A rank that was killed comes before those that fail since it is gone, though its end may be noticed after theirs.
          if (code === 0 || (failed !== 0 && (killed || !wasKilled))) return
          const isFirst = failed === 0
          failed = code
          killed = wasKilled
          if (!isFirst) return
          const laterMs = Math.max(0, toldMs + saveMs - performance.now())
          timers.push(setTimeout(send, laterMs + askMs, 'SIGTERM'), setTimeout(send, laterMs + graceMs, 'SIGKILL'))
        }
        child.once('error', (error) => {
          onLine(rank, `cannot be started: ${error.message}`)
          end(1, false)
          resolve()
        })
        child.once('exit', (code, signal) => {
          if (signal !== null) onLine(rank, `was killed (${signal})`)
          end(signal === null ? code! : 128 + constants.signals[signal], signal !== null && !sent)
        })
        // All output of the rank has been passed on.
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
    // Signals that the terminal sends to all of its processes would arrive twice, or only at some of the ranks.
    ...{ env, detached: true, stdio: [output, output, rank === 0 ? 'inherit' : 'pipe', 'ipc'] },
  })
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => onLine(rank, line))
  return child
}

let bound = false

/**
 * Ends this process, which `runRanks` may have started, when its parent is gone. `joinGroup` calls it; programs with long work before that
 * call it themselves. On Linux with koffi the kernel kills the process, whatever it executes; its exit handlers do not run then. Elsewhere
 * it ends when it next polls its event loop, which a rank that executes only blocking calls never does.
 */
export function endWithParent(): void {
  if (bound || process.env.VERBENA_RANK === undefined || !process.channel) return
  bound = true
  process.on('disconnect', () => process.exit(1))
  process.channel.unref()
  killWithParent()
  // The parent may have ended before.
  if (isGone(Number(process.env.VERBENA_PARENT))) process.exit(1)
}

/**
 * Returns true if the parent has ended. It need not be the direct parent: a process that runs the module, such as one that compiles it, may
 * be between the two.
 */
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
