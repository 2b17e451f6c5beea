/** Processes below this one: those that lose their parent come to it, and are waited for. prctl(2), waitid(2). */
import { constants } from 'node:os'
import { errnoName, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const PR_SET_CHILD_SUBREAPER = 36
const PR_SET_DUMPABLE = 4
const P_ALL = 0
const P_PID = 1
const WNOHANG = 1
const WEXITED = 4
const WNOWAIT = 0x1000000
/** siginfo_t: si_pid, behind three words and one of padding. */
const pidWord = 4

const info = libc === null ? null : nativeScratch(128)

/** From now on this process is the parent of all descendants whose parents have ended. */
export function adoptDescendants(): void {
  const { prctl, koffi } = requireLibc('prctl')
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) === 0) return
  throw nativeError('prctl', errnoName(koffi.errno()), koffi.errno(), 'descendants cannot be adopted')
}

/** A child that has ended and was not waited for, 0 if there is none, −1 if there is no child at all. */
export function endedChild(): number {
  const { syscall, koffi } = requireLibc('waitid')
  info!.u32.fill(0)
  const flags = WEXITED | WNOHANG | WNOWAIT
  if (Number(syscall(callNumber('waitid'), P_ALL, 0, info!.address, flags, 0, 0)) === 0) return info!.u32[pidWord]!
  return koffi.errno() === constants.errno.ECHILD ? -1 : 0
}

/** Waits for a child that has ended, so that nothing of it is left. */
export function reapChild(pid: number): void {
  requireLibc('waitid').syscall(callNumber('waitid'), P_PID, pid, info!.address, WEXITED | WNOHANG, 0, 0)
}

/** A signal that ends this process leaves no core file. */
export function dumpNoCore(): void {
  requireLibc('prctl').prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
}
