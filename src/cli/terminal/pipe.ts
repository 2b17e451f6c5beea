import { exitCodes } from './exit-codes.ts'
import { describeFailure } from './failure.ts'
import { currentRun } from './io.ts'

/** What becomes of output that cannot be written: `verbena … | head` closes the pipe, and that is no failure. */
export function endOnFailedOutput(): void {
  process.stdout.on('error', (error) => {
    endIfClosedPipe(error)
    // Such as a full disk.
    process.stderr.write(`verbena: standard output: ${describeFailure(error).message}\n`)
    process.exit(exitCodes.failed)
  })
  process.stderr.on('error', (error) => {
    endIfClosedPipe(error)
    process.exit(exitCodes.failed)
  })
}

/** Ends the process if this is what a write to a pipe says that nobody reads. */
export function endIfClosedPipe(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(currentRun().exitCode)
}
