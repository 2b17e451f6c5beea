/** Sentence about a value that is not valid: "'x' is not valid. Expected a, b or c, for example: --flag a". Pure. */
import { didYouMean } from './nearest.ts'

/**
 * Returns the sentence about a value that is not valid.
 *
 * @param value the given value, as `quoted` writes it
 * @param expected the valid values in words, or a list of all of them
 * @param example a valid value, as it is typed
 */
export function notValid(value: string, expected: string | readonly string[], example?: string): string {
  return `${value} is not valid. ${expectation(expected, example)}`
}

/** Returns the second sentence of it, where there is no value. */
export function expectation(expected: string | readonly string[], example?: string): string {
  const what = typeof expected === 'string' ? expected : either(expected)
  return `Expected ${what}${example === undefined ? '' : `, for example: ${example}`}`
}

/** Joins names: a, b or c. */
function either(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

const mostShown = 60

/** Quotes a value of a document or an option: words in quotes, all else as JSON; the beginning of a long one. */
export function quoted(value: unknown): string {
  const isText = typeof value === 'string' || typeof value === 'number'
  const text = isText ? String(value) : (JSON.stringify(value) ?? String(value))
  const shown = text.length > mostShown ? `${text.slice(0, mostShown)}…` : text
  return typeof value === 'string' ? `'${shown}'` : shown
}

/** Fields of a zod issue that a sentence needs. */
export interface Issue {
  readonly code?: string
  readonly input?: unknown
  readonly message: string
  readonly expected?: string
  readonly values?: readonly unknown[]
  readonly origin?: string
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly inclusive?: boolean
}

/** Returns the sentence for an issue of zod, which must be set to report its input. */
export function issueText(issue: Issue): string {
  const { code, input, message } = issue
  // A message of zod itself; a message of the schema has a reason.
  const isPlain = /^Invalid (?:input|option)/.test(message)
  if (code === 'invalid_type' && input === undefined) return 'it is missing'
  if (code === 'invalid_type' && isPlain) return notValid(quoted(input), kinds[issue.expected!] ?? issue.expected!)
  if (code === 'invalid_value' && isPlain) return notOneOf(input, issue.values!.map(String))
  const limit = limitOf(issue)
  if (limit !== undefined) return notValid(quoted(input), limit)
  const [, expected] = /^expected (.*)$/s.exec(message) ?? []
  if (expected !== undefined && input !== undefined) return notValid(quoted(input), expected)
  return message.charAt(0).toLowerCase() + message.slice(1)
}

/** Returns the limit of a number, where the schema has no words of its own. */
function limitOf({ code, message, origin, minimum, maximum, inclusive }: Issue): string | undefined {
  if ((origin !== 'number' && origin !== 'int') || !/^Too (?:small|big):/.test(message)) return undefined
  return code === 'too_small'
    ? `${inclusive ? 'at least' : 'more than'} ${minimum}`
    : `${inclusive ? 'at most' : 'less than'} ${maximum}`
}

/** Returns the types of the branches of a zod union, in words. */
export function kindsOf(branches: readonly (readonly Issue[])[]): string[] {
  const expected = branches.flat().flatMap((issue) => (issue.code === 'invalid_type' ? [issue.expected!] : []))
  return [...new Set(expected.map((type) => kinds[type] ?? type))]
}

/** Returns the sentence about a word that is not one of `names`: the nearest of them, or all. */
export function notOneOf(value: unknown, names: readonly string[]): string {
  const near = typeof value === 'string' ? didYouMean(value, names) : ''
  return near === '' ? notValid(quoted(value), names) : `${quoted(value)} is not valid.${near}`
}

/** Types as zod names them. */
const kinds: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'a group of keys',
  record: 'a group of keys',
  array: 'a list',
}
