/** `verbena … | head` closes the pipe: that is no failure. */
export function endQuietlyOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      endIfClosedPipe(error)
      throw error
    })
  }
}

/** Ends the process if this is what a write to a pipe says that nobody reads. */
export function endIfClosedPipe(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(Number(process.exitCode ?? 0))
}
