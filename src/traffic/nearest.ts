/** The word that a misspelled one most likely was. */

/** The nearest of `words` by edits (Levenshtein), at most a third of its letters and one more; undefined if none is near. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of words) {
    const edits = distance(word.toLowerCase(), candidate.toLowerCase())
    if (edits < least && edits <= Math.floor(candidate.length / 3) + 1) {
      least = edits
      best = candidate
    }
  }
  return best
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 0; i < a.length; i++) {
    const below = [i + 1]
    for (let j = 0; j < b.length; j++)
      below.push(Math.min(row[j + 1]! + 1, below[j]! + 1, row[j]! + (a[i] === b[j] ? 0 : 1)))
    row = below
  }
  return row[b.length]!
}
