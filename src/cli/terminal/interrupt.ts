/**
 * Ctrl-C. The first one stops the measurement, so that partial results are saved; the second ends the process. Whatever happens, the cursor
 * is visible afterwards.
 */
import { exitCodes } from './exit-codes.ts'
import { currentRun } from './io.ts'
import { isTerminal } from './output.ts'

const signals = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated } as const
const names = ['SIGINT', 'SIGTERM'] as const

/** Time within which another kind of signal is not a second request: launchers send one signal after the other. */
const sameMs = 1000

export interface Interruption {
  signal: AbortSignal
  /** Returns the exit code once it was interrupted, if it then ends in order; undefined before. */
  exitCode(): number | undefined
  dispose(): void
}

export interface InterruptibleOptions {
  /** True for a service, which runs until it is stopped: with SIGTERM, and stopped in order, it has done its work. */
  isService?: boolean
}

/** Handles Ctrl-C. `announcement` is printed at the first one; nothing if it is empty. */
export function interruptible(
  announcement = 'Stopping; what was measured is being saved. Once more ends at once.',
  { isService = false }: InterruptibleOptions = {},
): Interruption {
  const { stderr, signal: outer } = currentRun().io
  const controller = new AbortController()
  let exitCode: number | undefined
  let atMs = 0
  const interrupt = (code: number): void => {
    if (exitCode !== undefined) {
      if (code !== exitCode && performance.now() - atMs < sameMs) return
      process.exit(exitCode)
    }
    exitCode = code
    atMs = performance.now()
    if (announcement !== '') stderr.write(`\n${announcement}\n`)
    controller.abort()
  }
  const release = outer === undefined ? onSignals(interrupt) : onAbort(outer, interrupt)
  const showCursor = () => {
    if (isTerminal(stderr)) stderr.write('\u001b[?25h')
  }
  process.on('exit', showCursor)
  return {
    signal: controller.signal,
    exitCode: () => (isService && exitCode === exitCodes.terminated ? exitCodes.done : exitCode),
    dispose: () => {
      release()
      process.off('exit', showCursor)
    },
  }
}

function onSignals(interrupt: (code: number) => void): () => void {
  const handlers = names.map((name) => {
    const handler = () => interrupt(signals[name])
    process.on(name, handler)
    return [name, handler] as const
  })
  return () => {
    for (const [name, handler] of handlers) {
      process.off(name, handler)
      endInOrder(name)
    }
  }
}

/**
 * Makes this signal end the process by `exit`, unless other code listens: so a command that is closing leaves nothing behind, such as a
 * segment that it is the last to use. A thread that does not return to its event loop does not notice the signal.
 */
function endInOrder(name: keyof typeof signals): void {
  if (process.listeners(name).includes(enders[name])) return
  // It runs first: the same signal may make another listener remove itself.
  process.prependListener(name, enders[name])
}

const enders = {
  SIGINT: () => end('SIGINT'),
  SIGTERM: () => end('SIGTERM'),
}

function end(name: keyof typeof signals): void {
  if (process.listenerCount(name) === 1) process.exit(signals[name])
}

function onAbort(outer: AbortSignal, interrupt: (code: number) => void): () => void {
  const handler = () => interrupt(outer.reason === 'SIGTERM' ? exitCodes.terminated : exitCodes.interrupted)
  if (outer.aborted) handler()
  else outer.addEventListener('abort', handler, { once: true })
  return () => outer.removeEventListener('abort', handler)
}
