import { exitCodes } from './exit-codes.ts'
import { describeFailure } from './failure.ts'
import { currentRun } from './io.ts'

/** Ends the process when output cannot be written: `verbena … | head` closes the pipe, which is not a failure. */
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

/** Ends the process if this is the error of a write to a pipe that no process reads. */
export function endIfClosedPipe(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(currentRun().exitCode)
}
