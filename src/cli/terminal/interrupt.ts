/**
 * Ctrl-C. The first one asks the measurement to stop, so that partial results are saved; the second ends the process.
 * Whatever happens, the cursor is visible afterwards.
 */
const signals = { SIGINT: 130, SIGTERM: 143 } as const

export interface Interruption {
  signal: AbortSignal
  /** The exit code once it was interrupted; undefined before. */
  exitCode(): number | undefined
  dispose(): void
}

/** `announcement` is what the first one says; nothing if it is empty. */
export function interruptible(
  announcement = 'Stopping; what was measured is being saved. Once more ends at once.',
): Interruption {
  const controller = new AbortController()
  let exitCode: number | undefined
  const handlers = Object.entries(signals).map(([name, code]) => {
    const handler = () => {
      if (exitCode !== undefined) process.exit(exitCode)
      exitCode = code
      if (announcement !== '') process.stderr.write(`\n${announcement}\n`)
      controller.abort()
    }
    process.on(name, handler)
    return [name, handler] as const
  })
  const showCursor = () => {
    if (process.stderr.isTTY) process.stderr.write('\u001b[?25h')
  }
  process.on('exit', showCursor)
  return {
    signal: controller.signal,
    exitCode: () => exitCode,
    dispose: () => {
      for (const [name, handler] of handlers) process.off(name, handler)
      process.off('exit', showCursor)
    },
  }
}
