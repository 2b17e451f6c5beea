/** Exact counting beside the sketches, as their reference. */
import type { KeyBlock } from './key-block.ts'

/** Observer of everything that goes into the sketches of a window, before the window is handed on. */
export interface Witness {
  /** Receives the keys of packets, with their bytes, number and messages; and those of events with their number. */
  keys(of: 'packets' | 'events', block: KeyBlock): void
  seen(of: 'flows' | 'hosts', key: Uint8Array): void
  latency(of: 'ack' | 'read', ns: number): void
}
