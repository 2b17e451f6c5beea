/**
 * Proofs that the two ends of a connection exchange before anything else: both know the key, each over a nonce of the other. A proof that
 * a listener has received is not valid for any other connection. If the group may meet at one of several ports, the port is part of the
 * proof: a listener at another port that forwards everything to rank 0 fails.
 *
 * Limits: a listener that greets like rank 0 learns the identity of the rank (rank, host, process, settings), and a proof with which it can
 * try keys offline, so a key that can be guessed protects nothing. The data after the proofs are neither encrypted nor authenticated: an
 * attacker that can change packets in transit, or owns the address at which rank 0 is expected, is not kept out.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const nonceBytes = 32
export const proofBytes = 32

export function makeNonce(): Buffer {
  return randomBytes(nonceBytes)
}

/** Returns the proof of an end, for a group, a port (0: any), both nonces and the introduction. */
export function proofOf(
  key: Uint8Array,
  who: 'rank 0' | 'rank',
  job: string,
  port: number,
  challenge: Uint8Array,
  nonce: Uint8Array,
  said: Uint8Array,
): Buffer {
  const mac = createHmac('sha256', key)
  for (const part of [who, job, String(port), challenge, nonce, said]) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    mac.update(length).update(bytes)
  }
  return mac.digest()
}

export function sameProof(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
