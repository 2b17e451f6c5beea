/**
 * Memory layout of one end of a pair of client and server, and their messages over the control queue pair: batches of requests, each of
 * which requests one flow.
 *
 *     bytes of a request    0  number of the channel (16 bits)
 *                           2  verb (index in `verbs`)
 *                           3  0
 *                           4  sequence number of the flow on its channel (32 bits)
 *                           8  bytes of the flow (double)
 *                          16  bits per second, 0 without a limit (double)
 *
 * A flow is cut into messages of at most `chunkBytes`. All data is sent from one buffer, and all data that arrives goes to one buffer: the
 * contents do not matter. Messages of UC and UD can be lost, so SENDs begin with the sequence number of their flow, or as many of its bytes
 * as they have; their receives have a slot of their own for the beginning, besides the common buffer for the rest.
 */
export const requestBytes = 24
/** Maximum number of requests in one control message. */
export const batchRequests = 64
/** Maximum number of outstanding control messages. */
export const controlSlots = 64
export const chunkBytes: number = 256 * 1024
/** Number of marks in a bank, for WRITEs on UC: see `Marks`. */
export const bankMarks = 1024
export const bankBytes: number = chunkBytes + bankMarks
/** Size of the GRH of a datagram, and the sequence number of its flow. */
export const headerBytes = 48
export const headerOffset = 40

export interface Region {
  /** Offsets in the buffer of an end. */
  source: number
  sink: number
  atomics: number
  /** Offset of a byte with 1. */
  mark: number
  control: number
  headers: number
  /** Offset of the banks, two for each channel that has `Marks`. */
  banks: number
  bytes: number
}

/** Returns the layout. `headers`: slots for the beginnings of messages; `marked`: channels with banks at this end. */
export function regionOf(headers: number, marked: number): Region {
  const source = 0
  const sink = source + chunkBytes
  const atomics = sink + chunkBytes + 64
  const mark = atomics + 64
  const control = mark + 64
  const slots = control + controlSlots * batchRequests * requestBytes
  const banks = slots + headers * headerBytes + 64
  const bytes = banks + marked * 2 * bankBytes
  return { source, sink, atomics, mark, control, headers: slots, banks, bytes }
}
