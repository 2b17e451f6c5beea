/**
 * Words of the comments in src/, as far as a test can see them: how a documentation comment begins, and words that signals and values have
 * no use for. CONTRIBUTING.md has the rules.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../src/', import.meta.url))

interface Rule {
  readonly pattern: RegExp
  readonly instead: string
}

/** Documentation comments begin with a noun, with a verb in the third person, or with `True if`. */
const beginnings: readonly Rule[] = [
  { pattern: /^(What|Which|Who)\b/, instead: 'the noun itself, or a verb: "Bytes of …", "Returns …"' },
  {
    pattern: /^(Where|How|When|Why)\b/,
    instead: 'a noun: "Offset of …", "Number of …", "Time after which …", "Reason for …"',
  },
  { pattern: /^(Of|By)\b/, instead: 'a noun before it: "Counters of …"' },
  { pattern: /^Whether\b/, instead: '"True if …"' },
]

const words: readonly Rule[] = [
  { pattern: /\b(nobody|somebody)\b/i, instead: '"no thread", "another process", …' },
  { pattern: /\b(says|tells|asks|hears)\b/, instead: '"indicates", "returns", "requests", "receives", "notifies"' },
]

interface Comment {
  readonly place: string
  readonly text: string
  readonly isDocumentation: boolean
}

function commentsOf(file: string): Comment[] {
  const source = readFileSync(join(root, file), 'utf8')
  const place = (at: number): string => `src/${file}:${source.slice(0, at).split('\n').length}`
  const documentation = [...source.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map(({ index, 1: body = '' }) => ({
    ...{ place: place(index), isDocumentation: true },
    text: body.replaceAll(/^\s*\*? ?/gm, ' ').trim(),
  }))
  const lines = [...source.matchAll(/^[ \t]*\/\/ .*(?:\n[ \t]*\/\/ .*)*/gm)].map(({ index, 0: text }) => ({
    ...{ place: place(index), text, isDocumentation: false },
  }))
  return [...documentation, ...lines]
}

it('comments have the words of CONTRIBUTING.md', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const comments = files.flatMap(commentsOf)
  expect(comments.length).toBeGreaterThan(10_000)
  const wrong = comments.flatMap(({ place, text, isDocumentation }) =>
    [...(isDocumentation ? beginnings : []), ...words]
      .filter(({ pattern }) => pattern.test(text))
      .map(({ pattern, instead }) => `${place}: "${pattern.exec(text)![0]}"; instead ${instead}`),
  )
  expect(wrong.join('\n')).toBe('')
})
