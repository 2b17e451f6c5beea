/** Suggestions for a misspelled word. */

/** Returns the nearest of `words` by edits, at most a third of its letters and one more; undefined if none is near. Case does not count. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of words) {
    const most = Math.floor(candidate.length / 3) + 1
    // Words whose lengths differ by more are no nearer than that.
    if (Math.abs(candidate.length - word.length) > Math.min(most, least)) continue
    const needed = edits(word.toLowerCase(), candidate.toLowerCase())
    if (needed < least && needed <= most) {
      least = needed
      best = candidate
    }
  }
  return best
}

/** Returns " Did you mean 'x'?", for the end of a sentence; empty if no word is near. */
export function didYouMean(word: string, words: readonly string[]): string {
  const near = nearest(word, words)
  if (near !== undefined) return ` Did you mean '${near}'?`
  const begun = words.filter((each) => isBegin(word, each)).map((each) => `'${each}'`)
  return begun.length === 0 || begun.length > mostBegun ? '' : ` Did you mean ${begun.join(' or ')}?`
}

/** Maximum number of words in a hint. */
const mostBegun = 3

/** True if a word is the first part of another one, as limit of limit_value. */
function isBegin(word: string, whole: string): boolean {
  return (
    word.length > 2 && whole.toLowerCase().startsWith(word.toLowerCase()) && /^[^a-z\d]/i.test(whole.slice(word.length))
  )
}

/** Returns the number of insertions, deletions and replacements that make one word of the other (Levenshtein). */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 0; i < a.length; i++) {
    const below = [i + 1]
    for (let j = 0; j < b.length; j++)
      below.push(Math.min(row[j + 1]! + 1, below[j]! + 1, row[j]! + (a[i] === b[j] ? 0 : 1)))
    row = below
  }
  return row[b.length]!
}
