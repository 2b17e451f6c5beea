/** Rewriting the stamps of messages that are outstanding, for `--stamp send`. */
import { cpuCount } from '../../memory/index.ts'
import { Control, tvNsec } from '../bench-thread/index.ts'
import type { LatencySettings } from './settings.ts'

/** Writes the time into every message from number `from` (or the first that is not complete) to the last posted one. */
export function rewriteStamps(words: Int32Array, strideWords: number, control: Int32Array, from: number): void {
  const posted = Atomics.load(control, Control.posted)
  const completed = Atomics.load(control, Control.completed)
  // The stamp is one word, since its upper half is 0 for every tv_nsec: a reader never sees half a stamp.
  for (let i = Math.max(from, completed); i < posted; i++) words[i * strideWords] = tvNsec()
}

/**
 * True if the receiver rewrites the stamps. The stamping thread, the receiver and the engine must run at the same time, or
 * stamps are old when the adapter reads them. Where there are not enough cores, a receiver that polls stamps between two polls.
 */
export function receiverStamps(settings: LatencySettings): boolean {
  return settings.stamp === 'send' && settings.poll === 'busy' && cpuCount < 4
}
