/** "'x' is not valid. Expected …": of a word, of a value in a document, and of what zod says. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { expectation, type Issue, issueText, notOneOf, notValid, quoted } from '../../src/spelling/index.ts'
import { wrongValue } from '../../src/tools/kit/index.ts'

it.each([
  [notValid(quoted('x'), 'a number'), "'x' is not valid. Expected a number"],
  [notValid(quoted(3), ['a', 'b', 'c'], '--flag a'), '3 is not valid. Expected a, b or c, for example: --flag a'],
  [notValid(quoted([1, { a: 'b' }]), ['a', 'b']), '[1,{"a":"b"}] is not valid. Expected a or b'],
  [expectation(['a']), 'Expected a'],
  [
    wrongValue('--size', '9', 'a power of two', 8).message,
    "--size: '9' is not valid. Expected a power of two, for example: --size 8",
  ],
  [notOneOf('poison', ['poisson', 'uniform']), "'poison' is not valid. Did you mean 'poisson'?"],
  [notOneOf('x', ['poisson', 'uniform']), "'x' is not valid. Expected poisson or uniform"],
  [quoted('y'.repeat(100)), `'${'y'.repeat(60)}…'`],
  [quoted(undefined), 'undefined'],
  [quoted(Number.NaN), 'NaN'],
])('%s', (text, expected) => expect(text).toBe(expected))

describe('of an issue of zod', () => {
  const schema = z.strictObject({
    count: z.number().int().min(1).max(9).optional(),
    share: z.number().gt(0).lt(1).optional(),
    kind: z.enum(['open', 'closed']).optional(),
    name: z.string().min(2).optional(),
    id: z.string().regex(/^\d+$/, 'expected digits').optional(),
    list: z.array(z.boolean()).optional(),
    group: z.record(z.string(), z.number()).optional(),
    part: z.number().max(1, 'shares are from 0 to 1').optional(),
    must: z.string(),
  })
  const textOf = (document: object): string => {
    const { error } = schema.safeParse({ must: 'be', ...document }, { reportInput: true })
    return issueText(error!.issues[0] as Issue)
  }
  it.each([
    [{ count: 'x' }, "'x' is not valid. Expected a number"],
    [{ count: 1.5 }, '1.5 is not valid. Expected a whole number'],
    [{ count: 0 }, '0 is not valid. Expected at least 1'],
    [{ count: 10 }, '10 is not valid. Expected at most 9'],
    [{ share: 0 }, '0 is not valid. Expected more than 0'],
    [{ share: 1 }, '1 is not valid. Expected less than 1'],
    [{ kind: 'opened' }, "'opened' is not valid. Did you mean 'open'?"],
    [{ kind: 3 }, '3 is not valid. Expected open or closed'],
    [{ name: 3 }, '3 is not valid. Expected text'],
    [{ id: 'x' }, "'x' is not valid. Expected digits"],
    [{ list: {} }, '{} is not valid. Expected a list'],
    [{ list: [3] }, '3 is not valid. Expected true or false'],
    [{ group: 3 }, '3 is not valid. Expected a group of keys'],
    [{ must: undefined }, 'it is missing'],
  ])('%j', (document, text) => expect(textOf(document)).toBe(text))

  it('leaves what it has no better words for', () => {
    expect(textOf({ name: 'x' })).toMatch(/^too small: expected string/)
    expect(textOf({ part: 3 })).toBe('shares are from 0 to 1')
    expect(textOf({ more: 3 })).toBe('unrecognized key: "more"')
  })
})
