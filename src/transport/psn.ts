/** Packet sequence numbers are a matter of the wire. */
export { psnAdd, psnDiff, psnMask } from '../wire/index.ts'
