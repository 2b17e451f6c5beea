/** Words by which the main thread commands the thread of a group, which looks at them in its loop. Each has a cache line. */
export const Control = {
  /** Command: one of `Command`. */
  command: 0,
  /** Count of messages: when it changes there are some for the thread. */
  attention: 16,
  /** Count of seconds, or of the times at which statistics are gathered: hooks do their periodic work. */
  tick: 32,
  /** Flag: the gateway is to stop, and nodes do not wait any more to start. */
  stopping: 48,
  words: 64,
} as const

/** Commands. `drain`: read what is left in nodes that mirror others, whose writers have stopped, then stop. */
export const Command = { hold: 0, run: 1, drain: 2 } as const

export function newControl(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Control.words * 4))
}
