/** What the processes of a fleet and the test say to each other, and the data that they exchange. */
import type { QpEndpoint } from '../../src/index.ts'
import { seededBits } from '../../src/stats/index.ts'

/** What a peer must know to talk with a process. `id` is never used again, `port` is that of the place in the fleet. */
export interface Offer {
  readonly id: number
  readonly port: number
  readonly rc: QpEndpoint
  readonly ud: QpEndpoint
  /** What the peer may write to, read and count in; see `region`. */
  readonly addr: number
  readonly rkey: number
}

export type Command =
  /** Makes a queue pair and memory for a peer; the answer is an `Offer`. */
  | { readonly do: 'offer'; readonly peer: number }
  /** Connects to the peer; the one that `dials` connects the socket. */
  | { readonly do: 'connect'; readonly offer: Offer; readonly dials: boolean }
  /** The peer is ready as well: sends to it from now on. */
  | { readonly do: 'talk'; readonly peer: number }
  /** The peer has been killed. */
  | { readonly do: 'forget'; readonly peer: number }
  /** Sends as much as it can, until it is killed. */
  | { readonly do: 'rush' }
  /** Begins nothing new; the answer comes when what it began has ended. */
  | { readonly do: 'stop' }
  /** The answer is `Tally` by peer. */
  | { readonly do: 'tell' }
  /** Closes all and ends. */
  | { readonly do: 'end' }

export type Message =
  | { readonly serial: number; readonly answer: unknown }
  | { readonly serial: number; readonly failed: string }
  /** Something went wrong with a peer: an error, or data that are not what they should be. */
  | { readonly trouble: string; readonly peer: number }

/** What went to a peer and came from it. */
export interface Tally {
  sent: { messages: number; writes: number; datagrams: number; bytes: number }
  received: { messages: number; writes: number; datagrams: number; bytes: number }
  /** READs and atomics that completed, with the right values. */
  verified: number
  /** The longest time between two completions while something was outstanding, milliseconds. */
  longestGapMs: number
}

export const emptyTally = (): Tally => ({
  sent: { messages: 0, writes: 0, datagrams: 0, bytes: 0 },
  received: { messages: 0, writes: 0, datagrams: 0, bytes: 0 },
  verified: 0,
  longestGapMs: 0,
})

/** Where what is in the memory that a peer reaches, bytes. */
export const region = {
  /** Slots for WRITEs with immediate data, which the owner looks at. */
  slots: 16,
  slotBytes: 4096,
  /** Slots for WRITEs that the peer reads back. */
  backAt: 65_536,
  backSlots: 8,
  backBytes: 8192,
  /** For atomics. */
  counterAt: 131_072,
  /** How many of the slots the owner has looked at, u32. */
  consumedAt: 131_080,
  bytes: 135_168,
} as const

/** Random bytes, the same in every process. */
const noise = new Uint8Array(65_536)
const bits = seededBits(1)
for (let i = 0; i < noise.length; i++) noise[i] = bits()

/** What number `seq` of a stream from one process to another holds, `length` bytes up to 8192. */
export function payload(from: number, to: number, seq: number, length: number): Uint8Array {
  const mixed = Math.imul(from * 31 + to, 0x9e3779b1) ^ Math.imul(seq + 1, 0x85ebca6b)
  return noise.subarray((mixed >>> 8) % 57_344).subarray(0, length)
}

/** How long it is: 4 to `most` bytes, the same for both ends. */
export function payloadLength(seq: number, most: number): number {
  return 4 + ((Math.imul(seq + 1, 0x9e3779b1) >>> 8) % (most - 3))
}

/** Bytes of a stream, from position `at` to the end of the noise at most. */
export function streamPart(from: number, to: number, at: number, length: number): Uint8Array {
  const start = (at + from * 4099 + to * 257) % noise.length
  return noise.subarray(start, start + length)
}
