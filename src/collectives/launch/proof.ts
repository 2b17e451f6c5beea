/**
 * What two ends of a connection show each other before they talk: that both know the key, each over a nonce of the other. A listener
 * that is none of ours learns nothing from it, and what it heard is good for no other connection. What follows is neither encrypted
 * nor authenticated: who can change packets on the way is not kept out.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const nonceBytes = 32
export const proofBytes = 32

export function makeNonce(): Buffer {
  return randomBytes(nonceBytes)
}

/** Of whom, in which group, over which nonces and words. */
export function proofOf(
  key: Uint8Array,
  who: 'rank 0' | 'rank',
  job: string,
  challenge: Uint8Array,
  nonce: Uint8Array,
  said: Uint8Array,
): Buffer {
  const mac = createHmac('sha256', key)
  for (const part of [who, job, challenge, nonce, said]) {
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
