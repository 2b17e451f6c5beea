/**
 * Signals to a front while its program runs. The program is in the same process group, so that signals of the terminal (Ctrl-C, Ctrl-\,
 * Ctrl-Z, a new size) reach it directly; signals sent to the front alone are forwarded.
 */
import { readdirSync, readFileSync } from 'node:fs'

const forwarded = ['SIGHUP', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const
/** Signals that a terminal sends to its foreground process group. */
const ofTerminal = ['SIGINT', 'SIGQUIT'] as const

export interface Forwarding {
  /** Called when the program runs, with its process id. */
  started(pid: number): void
  /** Called when it has ended: signals then go to its descendants whose only parent is this process. */
  ended(): void
  /** Restores the previous handling of signals. */
  stop(): void
}

/**
 * Forwards signals from now on. A signal that arrives before the program is known waits for it if `maySpawn` returns true: the program may
 * exist already, and this process must not abandon it. Otherwise the signal ends this process, as it would any other.
 */
export function forwardSignals(maySpawn: () => boolean): Forwarding {
  let program: number | undefined
  let isKnown = false
  const waiting: NodeJS.Signals[] = []
  const send = (signal: NodeJS.Signals): void => {
    if (!isKnown) {
      if (maySpawn()) waiting.push(signal)
      else {
        stop()
        process.kill(process.pid, signal)
      }
      return
    }
    for (const to of program === undefined ? children() : [program]) {
      try {
        process.kill(to, signal)
      } catch {
        // It has ended.
      }
    }
  }
  const sendUnlessTerminal = (signal: NodeJS.Signals): void => {
    if (!isKnown || !isForeground()) send(signal)
  }
  const stop = (): void => {
    for (const signal of forwarded) process.off(signal, send)
    for (const signal of ofTerminal) process.off(signal, sendUnlessTerminal)
  }
  for (const signal of forwarded) process.on(signal, send)
  for (const signal of ofTerminal) process.on(signal, sendUnlessTerminal)
  return {
    started(pid) {
      program = pid
      isKnown = true
      for (const signal of waiting.splice(0)) send(signal)
    },
    ended() {
      program = undefined
    },
    stop,
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

/** True if this process group is the foreground group of its terminal. */
function isForeground(): boolean {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return group === foreground
}

/** Returns the children of all threads of this process that have not ended. */
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
    // A kernel without CONFIG_PROC_CHILDREN: the stat file of each process names its parent.
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
