/** `verbena … | head` closes the pipe: that is no failure. */
export function endQuietlyOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(Number(process.exitCode ?? 0))
      throw error
    })
  }
}
