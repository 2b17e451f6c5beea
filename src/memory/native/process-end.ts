/** How this process ends. prctl(2), _exit(2). */
import { libc, requireLibc } from './libc.ts'

const PR_SET_DUMPABLE = 4

/** A signal that ends this process leaves no core file. */
export function dumpNoCore(): void {
  requireLibc('prctl').prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
}

/**
 * Ends this process: listeners of `exit` are called, and then the kernel ends all threads. Node.js would take the heaps of all down first,
 * which was a tenth of the time of `verbena run -- true`. It still does where it may have something to write itself, as for a profiler.
 */
export function endAtOnce(code: number): never {
  const { execArgv, env } = process
  const isPlain = execArgv.length === 0 && !env.NODE_OPTIONS && !env.NODE_V8_COVERAGE
  if (isPlain) process.on('exit', (last) => void libc?.exitNow(last))
  process.exit(code)
}
