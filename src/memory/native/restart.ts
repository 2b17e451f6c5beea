/**
 * Having a thread of another process make the call again in which it is blocked, without a signal: ptrace(2) stops it for a moment
 * (PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH), and a call that waited is made anew then, as after a signal without a handler
 * (ERESTARTSYS). It passes the thread's filter again. Neither memory nor registers are touched.
 *
 * A thread that traces is the parent of what it traces, so that waitid(2) in any thread of this process may report the moment's stop
 * (`endedChild`), and what waits for children by waitpid(2) takes it for an end: nothing else in this process may wait for a child then.
 */
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { errnos } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const PTRACE_DETACH = 17
const PTRACE_GETSIGINFO = 0x4202
const PTRACE_SEIZE = 0x4206
const PTRACE_INTERRUPT = 0x4207
/** Signals whose default action is to be ignored. */
const ignoredSignals = [constants.signals.SIGURG, constants.signals.SIGWINCH, constants.signals.SIGCHLD]

/** siginfo_t: the signal, and in the third word why; at a stop of ours the event is in its second byte. */
const info = libc === null ? null : nativeScratch(128)
const codeWord = 2
const PTRACE_EVENT_STOP = 128

function ptrace(request: number, tid: number, data = 0): boolean {
  const { syscall } = requireLibc('ptrace')
  return Number(syscall(callNumber('ptrace'), request, tid, 0, data, 0, 0)) === 0
}

/** Returns true if this process may trace at all: not where a filter blocks ptrace(2). Then no thread can be made to go on. */
export function mayTrace(): boolean {
  // The thread ID 0 does not exist.
  return !ptrace(PTRACE_SEIZE, 0) && requireLibc('ptrace').koffi.errno() === errnos.ESRCH
}

/** Returns true if a thread may be in the call with this number and these first arguments, or on its way into it or out of it. */
export function mayBeIn(tid: number, number: number, args: readonly number[]): boolean {
  try {
    const [call, ...words] = readFileSync(`/proc/${tid}/syscall`, 'latin1').split(' ')
    if (call === 'running\n') return true
    return Number(call) === number && args.every((word, i) => Number(words[i]) === word)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code !== 'ENOENT' && code !== 'ESRCH'
  }
}

/**
 * Begins: after true comes `restarted` until that is true. False if the thread has gone, or if another process traces it: then a signal
 * that means nothing to the thread has it make its call again, of which only its tracer sees something.
 */
export function beginRestart(tid: number): boolean {
  // Once more where a tracer has just left it, and the signal means nothing at all.
  for (let tries = 0; tries < 2; tries++) {
    if (seize(tid)) {
      interrupt(tid)
      return true
    }
    if (nudge(tid) && isTraced(statusOf(tid))) return false
  }
  return false
}

/** The two parts of beginning: false if that is not possible. */
export const seize = (tid: number): boolean => ptrace(PTRACE_SEIZE, tid)
export const interrupt = (tid: number): boolean => ptrace(PTRACE_INTERRUPT, tid)

/**
 * Sends a signal that the thread ignores unless it has set a handler; a traced thread wakes for ignored signals, too. If the thread blocks
 * all of them, SIGSTOP wakes it, which SIGCONT takes back at once: usually before the tracer sees it, and always before the thread stops
 * for it.
 */
function nudge(tid: number): boolean {
  const status = statusOf(tid)
  if (!isTraced(status)) return false
  const mask = (name: string): bigint => BigInt(`0x${new RegExp(`^${name}:\\s*(\\w+)`, 'm').exec(status)?.[1] ?? '0'}`)
  const has = (signals: bigint, signal: number): boolean => ((signals >> BigInt(signal - 1)) & 1n) !== 0n
  const [blocked, caught] = [mask('SigBlk'), mask('SigCgt')]
  const wakes = ignoredSignals.filter((signal) => !has(blocked, signal))
  const signal = wakes.find((signal) => !has(caught, signal)) ?? wakes[0]
  const signals = signal === undefined ? [constants.signals.SIGSTOP, constants.signals.SIGCONT] : [signal]
  const { syscall } = requireLibc('tkill')
  // One that has stopped makes its call again when it goes on.
  if (!/^State:\s*T/m.test(status)) for (const one of signals) syscall(callNumber('tkill'), tid, one, 0, 0, 0, 0)
  return true
}

function statusOf(tid: number): string {
  try {
    return readFileSync(`/proc/${tid}/status`, 'latin1')
  } catch {
    return ''
  }
}

const isTraced = (status: string): boolean => /^TracerPid:\s*[1-9]/m.test(status)

/**
 * Returns true if the thread has stopped, and has gone on, or has ended. Usually it takes 20 µs; a thread that may not be interrupted stops
 * later.
 */
export function restarted(tid: number): boolean {
  if (ptrace(PTRACE_DETACH, tid, signalOf(tid))) return true
  // Of one that has ended there is nothing to interrupt.
  return !interrupt(tid)
}

/** The signal at which a thread has stopped, which came just before the interruption and is its own; 0 where that stopped it. */
function signalOf(tid: number): number {
  if (!ptrace(PTRACE_GETSIGINFO, tid, info!.address)) return 0
  return info!.u32[codeWord]! >>> 8 === PTRACE_EVENT_STOP ? 0 : info!.u32[0]!
}
