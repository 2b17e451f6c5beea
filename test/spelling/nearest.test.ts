/** What a misspelled word most likely was to be. */
import { expect, it } from 'vitest'
import { didYouMean, nearest } from '../../src/spelling/index.ts'

it.each([
  ['vectorise', ['vectors', 'vectorize', 'rate'], 'vectorize'],
  ['RATE', ['date', 'rate'], 'rate'],
  ['tow', ['one', 'two'], 'two'],
  ['j', ['voltage', 'u'], 'u'],
  ['sequence', ['sequence'], 'sequence'],
  ['recieved', ['received', 'origin'], 'received'],
])('%s', (word, words, expected) => {
  expect(nearest(word, words)).toBe(expected)
})

it('nothing is near what has more wrong than a third of its letters and one', () => {
  expect(nearest('abcdef', ['abcxyz'])).toBe('abcxyz')
  expect(nearest('abcdef', ['abwxyz'])).toBeUndefined()
  expect(nearest('x'.repeat(10_000), ['size', 'rate'])).toBeUndefined()
  expect(nearest('size', [])).toBeUndefined()
})

it('the first of several that are as near', () => {
  expect(nearest('bat', ['cat', 'hat'])).toBe('cat')
})

it('a question at the end of a sentence, or none', () => {
  expect(didYouMean('sice', ['rate', 'size'])).toBe(" Did you mean 'size'?")
  expect(didYouMean('mtu', ['rate', 'size'])).toBe('')
})

it('words that begin with it, if none is near', () => {
  const hooks = ['limit_rate', 'limit_value', 'print', 'shift_seq']
  expect(didYouMean('limit', hooks)).toBe(" Did you mean 'limit_rate' or 'limit_value'?")
  expect(didYouMean('shift', hooks)).toBe(" Did you mean 'shift_seq'?")
  // Not a part of a word, nor too little of one, nor one of many.
  expect(didYouMean('lim', hooks)).toBe('')
  expect(didYouMean('set', ['set_first', 'set_second', 'set_third', 'set_fourth'])).toBe('')
})
