/** The end of this process. prctl(2), _exit(2). */
import module from 'node:module'
import { libc, requireLibc } from './libc.ts'

const PR_SET_DUMPABLE = 4

/** A signal that ends this process leaves no core file. */
export function dumpNoCore(): void {
  requireLibc('prctl').prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
}

const { enableCompileCache, flushCompileCache } = module as {
  enableCompileCache?: () => unknown
  flushCompileCache?: () => void
}

/**
 * Returns true if `endAtOnce` ends this process without Node.js, which takes the heaps of all threads down first. False where Node.js may
 * have data to write itself, as for a profiler.
 */
export function endsAtOnce(): boolean {
  const { execArgv, env } = process
  const writesNothing = execArgv.length === 0 && !env.NODE_OPTIONS && !env.NODE_V8_COVERAGE && !env.NODE_COMPILE_CACHE
  const keepsCode = enableCompileCache === undefined || flushCompileCache !== undefined
  return libc !== null && writesNothing && keepsCode
}

/**
 * Ends this process: listeners of `exit` are called, and then the kernel ends all threads. Taking them down was a tenth of the time of
 * `verbena run -- true`.
 */
export function endAtOnce(code: number): never {
  if (endsAtOnce())
    process.on('exit', (last) => {
      flushCompileCache?.()
      libc!.exitNow(last)
    })
  process.exit(code)
}
