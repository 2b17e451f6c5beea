/** Processes below this one: those that lose their parent come to it, and are waited for. prctl(2), waitid(2). */
import { constants } from 'node:os'
import { errnoName, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const PR_SET_CHILD_SUBREAPER = 36
const P_ALL = 0
const P_PID = 1
const WNOHANG = 1
const WEXITED = 4
const WNOWAIT = 0x1000000
const CLD_EXITED = 1
const CLD_TRAPPED = 4
/** siginfo_t: type of event, and after a word of padding the process, the user, and the exit code or signal. */
const codeWord = 2
const pidWord = 4
const statusWord = 6

/** Number of looks at a stop. A stop takes 20 µs; more where either thread has to wait for a processor. */
const mostLooks = 50

const signalNames = Object.keys(constants.signals) as NodeJS.Signals[]
const info = libc === null ? null : nativeScratch(128)

/** Makes this process the parent of all descendants whose parents have ended, from now on. */
export function adoptDescendants(): void {
  const { prctl, koffi } = requireLibc('prctl')
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) === 0) return
  throw nativeError('prctl', errnoName(koffi.errno()), koffi.errno(), 'descendants cannot be adopted')
}

/** End of a process: with an exit code, or by a signal. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Result of `endedChild` at a moment in which the state cannot be known. */
export const endIsHidden = -2

/** Returns a child that has ended and was not waited for, 0 if there is none, −1 if this process has no child; or `endIsHidden`. */
export function endedChild(): number {
  const { syscall, schedYield, koffi } = requireLibc('waitid')
  const flags = WEXITED | WNOHANG | WNOWAIT
  for (let looks = 0; looks < mostLooks; looks++) {
    info!.u32.fill(0)
    if (Number(syscall(callNumber('waitid'), P_ALL, 0, info!.address, flags, 0, 0)) !== 0)
      return koffi.errno() === constants.errno.ECHILD ? -1 : 0
    if (info!.u32[codeWord] !== CLD_TRAPPED) return info!.u32[pidWord]!
    // A thread that another one of this process stops for a moment (restart.ts) hides those that have ended.
    schedYield()
  }
  return endIsHidden
}

/** Waits for a child that has ended, so that nothing of it is left; returns how it ended. */
export function reapChild(pid: number): Ended {
  requireLibc('waitid').syscall(callNumber('waitid'), P_PID, pid, info!.address, WEXITED | WNOHANG, 0, 0)
  const status = info!.u32[statusWord]!
  if (info!.u32[codeWord] === CLD_EXITED) return { code: status, signal: null }
  const signal = signalNames.find((name) => constants.signals[name] === status)
  // Signals of real time have no names.
  return signal === undefined ? { code: 128 + status, signal: null } : { code: null, signal }
}
