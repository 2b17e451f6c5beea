/**
 * Words that the threads of a measurement share: each in a cache line of its own, because one thread writes and
 * another reads it while messages travel.
 */
const line = 16

export const Control = {
  /** One of `Stop`; written by the main thread. */
  stop: 0,
  /** Number of the phase that the receiver has posted its receives for. */
  receiverPhase: 16,
  /** Number of the phase that the sender has finished. */
  senderPhase: 32,
  /** Messages posted, and messages known to be complete, of the current phase: the stamping thread works between them. */
  posted: 48,
  completed: 64,
  received: 80,
  /** Flag: the stamping thread runs while this is 1. */
  stamping: 96,
  words: 112,
} as const

export const Stop = { run: 0, interrupted: 1, timeout: 2 } as const

/** Phases of one set. */
export const Phase = { none: 0, warmup: 1, burst: 2 } as const

export function newControl(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Control.words * 4))
}

export function resetControl(control: Int32Array): void {
  for (let word = line; word < Control.words; word += line) Atomics.store(control, word, 0)
}

export function stopText(stop: number): string | undefined {
  if (stop === Stop.interrupted) return 'interrupted'
  if (stop === Stop.timeout) return 'not finished in time'
  return undefined
}
