/** Requirements on this host for serving programs, and the sentence that names what is missing. */
import { readFileSync } from 'node:fs'
import { mayTrace, nativeAvailable, nativeReason, type Processor, thisProcessor } from '../../memory/index.ts'

/** A program cannot be started, or not be served. */
export class RunError extends Error {
  override readonly name = 'RunError'
  /** `ENOENT`, `EBUSY`, … */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Returns this processor. Throws `RunError` if programs cannot be served. */
export function checkHost(): Processor {
  if (!nativeAvailable) throw new RunError('EOPNOTSUPP', `programs cannot be served: ${nativeReason}`)
  if (thisProcessor === undefined)
    throw new RunError('EOPNOTSUPP', `programs can be served on x86-64 and arm64, not on ${process.arch}`)
  const reason = traceReason(read('/proc/sys/kernel/yama/ptrace_scope'), read('/proc/self/status'))
  if (reason !== null) throw new RunError('EPERM', reason)
  if (!mayTrace())
    throw new RunError(
      'EPERM',
      'a seccomp filter forbids ptrace, by which programs that wait for events are told of them (a container profile, or SystemCallFilter of systemd): allow it',
    )
  return thisProcessor
}

const CAP_SYS_PTRACE = 19n

/** Returns why memory of programs cannot be accessed, from Yama's setting and the status of this process; null if it can. */
export function traceReason(scope: string, status: string): string | null {
  const level = Number(scope.trim() || 0)
  if (level < 2) return null
  const capable = (BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`) >> CAP_SYS_PTRACE) & 1n
  if (level === 2 && capable === 1n) return null
  const setting = `kernel.yama.ptrace_scope is ${level}`
  return level === 2
    ? `${setting}: only processes with CAP_SYS_PTRACE may reach the memory of others. Set it to 1 (sysctl kernel.yama.ptrace_scope=1), or run as root`
    : `${setting}: no process may reach the memory of another until the machine has started again with a lower one`
}

/** Returns why a program could not be started. */
export function startFailure(code: string, message: string): string {
  if (code === 'ENOENT') return 'there is no such program: give its path, or a name that PATH finds'
  if (code === 'EACCES') return 'it is not executable: chmod +x, or start it by its interpreter'
  return message
}

/** Returns the error that explains why the filter cannot be installed. */
export function seccompError(code: string, message: string): RunError {
  if (code === 'EBUSY')
    return new RunError(
      code,
      'this process is supervised by another seccomp listener (a container runtime, or another tool): a process can have one. Run outside of that, or without its filter',
    )
  if (code === 'EINVAL' || code === 'ENOSYS')
    return new RunError(
      code,
      'this kernel has no seccomp user notification: Linux 5.14 or later, with CONFIG_SECCOMP_FILTER, is needed',
    )
  return new RunError(code, message)
}

export interface FileLimits {
  readonly soft: number
  readonly hard: number
}

/**
 * Minimum limit of open files: twice the number that this process has open with one program. Each program, and each of its files, adds
 * some.
 */
const leastOpenFiles = 128

/** Returns why this process may not have enough files open to serve programs; null if it may. */
export function openFilesReason(hard: number): string | null {
  if (hard >= leastOpenFiles) return null
  return `the hard limit of open files is ${hard}, and serving programs needs ${leastOpenFiles}: raise it (ulimit -Hn, LimitNOFILE of systemd, --ulimit nofile of a container)`
}

/**
 * Returns the limits of open files for programs: those that this process was started with. Node.js has raised its own; the parent still has
 * the original one. Throws `RunError` if they are not enough.
 */
export function openFileLimits(): FileLimits & { own: number } {
  const { soft, hard } = limitsIn(read('/proc/self/limits')) ?? { soft: 1024, hard: 1024 }
  const reason = openFilesReason(hard)
  if (reason !== null) throw new RunError('EMFILE', reason)
  const ofParent = limitsIn(read(`/proc/${process.ppid}/limits`))
  return { soft: Math.min(soft, ofParent?.soft ?? soft), hard, own: soft }
}

function limitsIn(text: string): FileLimits | undefined {
  const [, soft, hard] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(text) ?? []
  if (soft === undefined || hard === undefined) return undefined
  // The kernel has no more than that by default (fs.nr_open).
  const number = (word: string): number => (word === 'unlimited' ? 2 ** 20 : Number(word))
  return { soft: number(soft), hard: number(hard) }
}

/** True if this process runs below a front: its calls are filtered, and the environment names the front. */
export function isServed(outer: string | undefined): boolean {
  return outer !== undefined && /^Seccomp:\s*2$/m.test(read('/proc/self/status'))
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
