import { createHash, getHashes } from 'node:crypto'
import type { HookHash } from '../index.ts'

/** Returns a hash function of OpenSSL by its name; undefined if there is none. */
export function hashOf(algorithm: string): HookHash | undefined {
  if (!getHashes().includes(algorithm)) return undefined
  let hash = createHash(algorithm)
  return {
    update: (bytes) => void hash.update(bytes),
    finish: () => {
      const result = hash.digest()
      hash = createHash(algorithm)
      return result
    },
  }
}
