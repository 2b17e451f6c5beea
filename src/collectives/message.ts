/**
 * Immediate data of the messages between ranks: number of slots that the sender returns, kind of the message, and tag of its call, so that
 * ranks that disagree can be notified.
 *
 *     bits 0 to 4     slots given back: at most 16
 *     bits 5 to 7     `Kind`
 *     bits 8 to 31    the tag of the call (`nameOf` in caller.ts)
 */

/** Modulus of the numbers of calls in the lowest bits of their tags. */
export const callNumbers = 128

export const Kind = {
  /** Data of a transfer. */
  Data: 0,
  /** Notification that the data have been written to the place of `Ready`. */
  Written: 1,
  /** Destination of a long transfer, from its receiver: address, length of the transfer, bytes to write, key. */
  Ready: 2,
  /** Returned slots only; with eight bytes a query with the first chunk of a window that was multicast: has all of the window arrived? */
  Credit: 3,
  /** Transfer of no bytes. */
  Empty: 4,
  /**
   * Announcement of a long transfer by its sender, with length and location: for a receiver that shares the sender's memory, and for one
   * that expects a short message.
   */
  Long: 5,
  /** Notification that the receiver has read the data there: all of them, or those that `Ready` did not request. */
  TookAll: 6,
  TookRest: 7,
} as const
export function immediateOf(kind: number, tag: number, credits: number): number {
  return (credits | (kind << 5) | (tag << 8)) >>> 0
}

export function creditsOf(immediate: number): number {
  return immediate & 0x1f
}

export function kindOf(immediate: number): number {
  return (immediate >>> 5) & 7
}

export function tagOf(immediate: number): number {
  return immediate >>> 8
}
