/**
 * Having a thread of another process make the call again in which it is blocked, without a signal: ptrace(2) stops it for a moment
 * (PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH), and a call that waited is made anew then, as after a signal without a handler
 * (ERESTARTSYS). It passes the thread's filter again. Neither memory nor registers are touched.
 *
 * A thread that traces is the parent of what it traces, so that waitid(2) in any thread of this process may report the moment's stop
 * (`endedChild`), and what waits for children by waitpid(2) takes it for an end: nothing else in this process may wait for a child then.
 */
import { readFileSync } from 'node:fs'
import { requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const PTRACE_DETACH = 17
const PTRACE_SEIZE = 0x4206
const PTRACE_INTERRUPT = 0x4207

function ptrace(request: number, tid: number): boolean {
  const { syscall } = requireLibc('ptrace')
  return Number(syscall(callNumber('ptrace'), request, tid, 0, 0, 0, 0)) === 0
}

/** Whether nobody traces a thread, and this process may. */
export function mayRestart(tid: number): boolean {
  try {
    // Reading its system call asks for the same permission.
    readFileSync(`/proc/${tid}/syscall`)
    return /^TracerPid:\s*0$/m.test(readFileSync(`/proc/${tid}/status`, 'latin1'))
  } catch {
    return false
  }
}

/** Whether a thread may be in the call with this number and these first arguments, or on its way into it or out of it. */
export function mayBeIn(tid: number, number: number, args: readonly number[]): boolean {
  try {
    const [call, ...words] = readFileSync(`/proc/${tid}/syscall`, 'latin1').split(' ')
    if (call === 'running\n') return true
    return Number(call) === number && args.every((word, i) => Number(words[i]) === word)
  } catch {
    return false
  }
}

/** Begins: false if the thread has gone, or another process traces it. After true comes `restarted` until that is true. */
export function beginRestart(tid: number): boolean {
  if (!ptrace(PTRACE_SEIZE, tid)) return false
  ptrace(PTRACE_INTERRUPT, tid)
  return true
}

/** Whether the thread has stopped, and has gone on, or has ended. Usually it takes 20 µs; a thread that may not be interrupted stops later. */
export function restarted(tid: number): boolean {
  if (ptrace(PTRACE_DETACH, tid)) return true
  // Of one that has ended there is nothing to interrupt.
  return !ptrace(PTRACE_INTERRUPT, tid)
}
