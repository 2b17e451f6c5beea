/** Counting beside the sketches, to judge them by. */
import type { KeyBlock } from './key-block.ts'

/** Sees all that goes into the sketches of a window, before the window is handed on. */
export interface Witness {
  keys(of: 'packets' | 'messages' | 'events', block: KeyBlock): void
  seen(of: 'flows' | 'hosts', key: Uint8Array): void
  latency(of: 'ack' | 'read', ns: number): void
}
