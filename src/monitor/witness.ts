/** Counting beside the sketches, to judge them by. */
import type { KeyBlock } from './key-block.ts'

/** Sees all that goes into the sketches of a window, before the window is handed on. */
export interface Witness {
  /** The keys of packets, with their bytes, how many they are, and their messages; those of events with how many. */
  keys(of: 'packets' | 'events', block: KeyBlock): void
  seen(of: 'flows' | 'hosts', key: Uint8Array): void
  latency(of: 'ack' | 'read', ns: number): void
}
