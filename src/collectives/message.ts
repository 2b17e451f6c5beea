/**
 * What messages between ranks carry in their immediate: how many slots their sender gives back, what they are, and to which call they
 * belong, so that ranks that disagree are told so.
 *
 *     bits 0 to 4     slots given back: at most 16
 *     bits 5 to 7     `Kind`
 *     bits 8 to 31    the tag of the call (`nameOf` in caller.ts)
 */

/** Calls are numbered modulo this, in the lowest bits of their tags. */
export const callNumbers = 128

export const Kind = {
  /** The data of a transfer. */
  Data: 0,
  /** They have been written to where `Ready` said. */
  Written: 1,
  /** Where the receiver of a long transfer wants it: address, length of the transfer, how much of it, key. */
  Ready: 2,
  /** Nothing but slots given back; with eight bytes the first chunk of a window that was multicast: has all of it come? */
  Credit: 3,
  /** A transfer of no bytes. */
  Empty: 4,
  /**
   * A sender of a long transfer says its length and where it is: for a receiver that shares its memory, and in case that the receiver
   * expects a short one.
   */
  Long: 5,
  /** The receiver has taken it from there, all of it or what `Ready` did not ask for. */
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
