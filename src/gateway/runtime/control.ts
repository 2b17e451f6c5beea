/** Words by which the main thread commands the thread of a group, which looks at them in its loop. Each has a cache line. */
export const Control = {
  /** One of `Command`. */
  command: 0,
  /** Counts; when it changes there are messages for the thread. */
  attention: 16,
  /** Counts seconds, or as often as statistics are asked for: hooks do what they do periodically. */
  tick: 32,
  /** Not 0: the gateway is to stop, and nodes do not wait any more to start. */
  stopping: 48,
  words: 64,
} as const

/** `drain`: read what is left in nodes that mirror others, whose writers have stopped, then stop. */
export const Command = { hold: 0, run: 1, drain: 2 } as const

export function newControl(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Control.words * 4))
}
