import { expect, it } from 'vitest'
import { blockKeys, KeyReader, keyOf } from '../../src/sketch/keys.ts'
import { seedFrom } from '../../src/sketch/seed.ts'
import { seeded } from '../random.ts'

const lengths = [...Array.from({ length: 21 }, (_, i) => i + 1), 64, 255, 256]

it.each(lengths)('keys of %d bytes: one, a block, and kept words have the same words and hashes', (length) => {
  const random = seeded(length)
  const keys = Uint8Array.from({ length: (blockKeys + 1) * length }, () => random() * 256)
  const [one, block] = [1, 2].map(() => new KeyReader(length, seedFrom(7)))
  block!.load(keys, length, blockKeys)
  for (let i = 0; i < blockKeys; i += 17) {
    one!.load(keys, (i + 1) * length, 1)
    const words = block!.word.slice(i * block!.words, (i + 1) * block!.words)
    expect(one!.word.slice(0, one!.words)).toEqual(words)
    expect(keyOf(words, 0, length)).toEqual(keys.slice((i + 1) * length, (i + 2) * length))
    expect(one!.isPadded(words, 0)).toBe(true)
    expect([one!.h1[0], one!.h2[0]]).toEqual([block!.h1[i], block!.h2[i]])
    block!.rehash(words, 0)
    expect([block!.h1[blockKeys], block!.h2[blockKeys]]).toEqual([block!.h1[i], block!.h2[i]])
  }
})

/** Pairs of keys that differ as little as keys can, or in what weak hashes do not see. */
const pairs: [string, number[], number[]][] = [
  ['one bit', [0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]],
  ['the last bit', [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0x80]],
  ['the order of halves', [1, 2, 3, 4, 5, 6], [3, 4, 1, 2, 5, 6]],
  ['the order of words', [1, 2, 3, 4, 1, 2], [1, 2, 1, 2, 3, 4]],
  ['all bits', [0, 0, 0, 0, 0, 0], [255, 255, 255, 255, 255, 255]],
]

it.each(pairs)('%s: over the seeds both hashes are uniform and independent', (_, first, second) => {
  const seeds = 2048
  const cells = 8
  const tables = [1, 2].map(() => new Uint32Array(cells * cells))
  const hashes = (seed: number, key: number[]) => {
    const reader = new KeyReader(6, seedFrom(seed))
    reader.load(Uint8Array.from(key), 0, 1)
    return [reader.h1[0]!, reader.h2[0]!]
  }
  for (let seed = 0; seed < seeds; seed++) {
    const [a, b] = [hashes(seed, first), hashes(seed, second)]
    for (const [i, table] of tables.entries()) table[(a[i]! >>> 29) * cells + (b[i]! >>> 29)]!++
  }
  // Of 63 degrees of freedom: six standard deviations above the mean.
  const expected = seeds / cells ** 2
  for (const table of tables)
    expect(table.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0)).toBeLessThan(
      63 + 6 * Math.sqrt(126),
    )
})
