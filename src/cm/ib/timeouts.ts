/**
 * Times as the messages of the communication manager carry them: codes of five bits, 4.096 µs * 2^code (InfiniBand
 * Architecture Specification, volume 1, 12.6 and 12.7).
 */

const unitNs = 4096

/** Returns the duration of a code from 0 to 31: 14 is 67 ms, 20 is 4.3 s. */
export function timeoutNs(code: number): number {
  return unitNs * 2 ** code
}

/** Returns the smallest code whose duration is at least `ns`; 31 if there is none. */
export function timeoutCode(ns: number): number {
  return Math.min(31, Math.max(0, Math.ceil(Math.log2(ns / unitNs))))
}

/**
 * IBA 12.7.34: the local ACK timeout of a queue pair: there and back (`packetLifeTime` twice) and the adapter's delay, all codes,
 * rounded to the nearest code, up from the middle. It is the sum that Linux rounds in the same way.
 */
export function ackTimeoutCode(caAckDelay: number, packetLifeTime: number): number {
  const sum = 2 ** (packetLifeTime + 1) + 2 ** caAckDelay
  return Math.min(31, Math.floor(Math.log2(sum / 1.5)) + 1)
}
