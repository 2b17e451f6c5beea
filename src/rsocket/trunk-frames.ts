/**
 * Frames of a trunk. Each has a head of 8 bytes, big endian, and data frames the data behind it:
 *
 *      0  kind      1 open    value: the port that the client's end shows
 *                   2 accept
 *                   3 data    value: bytes that follow
 *                   4 credit  value: bytes that may be sent more
 *                   5 shut    nothing more is sent
 *                   6 close   neither is anything taken any more
 *                   7 reset
 *      1  stream    24 bits, chosen by the end that connected
 *      4  value
 */

export const Frame = { Open: 1, Accept: 2, Data: 3, Credit: 4, Shut: 5, Close: 6, Reset: 7 } as const

export const headBytes = 8
/** Bytes of one direction of one stream that may be under way. */
export const windowBytes: number = 1 << 16
