/**
 * Signals to a front while its program runs. The program is in the same process group, so that what the terminal sends (Ctrl-C, Ctrl-\,
 * Ctrl-Z, a new size) reaches it without us; what somebody sends to the front alone is forwarded.
 */
import { readdirSync, readFileSync } from 'node:fs'

const forwarded = ['SIGHUP', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const
/** Those that a terminal sends to all of its foreground group. */
const ofTerminal = ['SIGINT', 'SIGQUIT'] as const

/**
 * Forwards from now on; what it returns ends that. `pid` is the program's; once that has ended, signals go to those of its descendants that
 * have no other parent than this process.
 */
export function forwardSignals(pid: () => number | undefined): () => void {
  const send = (signal: NodeJS.Signals): void => {
    const program = pid()
    for (const to of program === undefined ? children() : [program]) {
      try {
        process.kill(to, signal)
      } catch {
        // It has ended.
      }
    }
  }
  const sendUnlessTerminal = (signal: NodeJS.Signals): void => {
    if (!isForeground()) send(signal)
  }
  for (const signal of forwarded) process.on(signal, send)
  for (const signal of ofTerminal) process.on(signal, sendUnlessTerminal)
  return () => {
    for (const signal of forwarded) process.off(signal, send)
    for (const signal of ofTerminal) process.off(signal, sendUnlessTerminal)
  }
}

/** Ends all descendants, whatever they do about signals. Those of a child come to this process when it ends, which adopts them. */
export function endDescendants(): void {
  const kill = (): void => {
    for (const pid of children())
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
  }
  process.on('SIGCHLD', kill)
  kill()
}

/** Whether this process group is the one in the foreground of its terminal. */
function isForeground(): boolean {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return group === foreground
}

/** Of all threads of this process, those that have not ended. */
function children(): number[] {
  try {
    const lists = readdirSync('/proc/self/task').map((tid) => readFileSync(`/proc/self/task/${tid}/children`, 'latin1'))
    return lists
      .join(' ')
      .split(' ')
      .filter(Boolean)
      .map(Number)
      .filter((pid) => isChild(`${pid}`))
  } catch {
    // A kernel without CONFIG_PROC_CHILDREN: each process says whose child it is.
    return readdirSync('/proc').filter(isChild).map(Number)
  }
}

function isChild(name: string): boolean {
  if (!/^\d+$/.test(name)) return false
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state !== 'Z' && Number(parent) === process.pid
  } catch {
    return false
  }
}
