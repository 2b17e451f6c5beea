/**
 * What two ends of a connection show each other before they talk: that both know the key, each over a nonce of the other. What a
 * listener has heard is good for no other connection. Where the group may meet at one of several ports, the port is part of the
 * proof: a listener at another port that passes everything on to rank 0 fails.
 *
 * What it does not do: a listener that greets like rank 0 hears who the rank is (rank, host, process, settings), and a proof by which
 * it can try keys offline, so a key that can be guessed is none. What follows the proofs is neither encrypted nor authenticated: who
 * can change packets on the way, or owns the address at which rank 0 is expected, is not kept out.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const nonceBytes = 32
export const proofBytes = 32

export function makeNonce(): Buffer {
  return randomBytes(nonceBytes)
}

/** Of whom, in which group, at which port (0: any), over which nonces and words. */
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
