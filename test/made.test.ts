/** scripts/made.mjs: a build is left out only if nothing has changed. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

/** Of JavaScript, since builds need no other program before them. */
interface Made {
  sources(): string
  isCurrent(sources: string): boolean
  note(sources: string): void
}
type MadeOf = new (root: string, sources: readonly string[], outputs: readonly string[], file: string) => Made
const { Made }: { Made: MadeOf } = await import(new URL('../scripts/made.mjs', import.meta.url).href)

let root: string
const write = (path: string, text: string): void => writeFileSync(join(root, path), text)
const made = (): Made => new Made(root, ['src', 'package.json', 'missing'], ['dist'], 'build/made')
const isCurrent = (): boolean => made().isCurrent(made().sources())

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'made-'))
  mkdirSync(join(root, 'src', 'inner'), { recursive: true })
  mkdirSync(join(root, 'dist'))
  write('src/a.ts', 'a')
  write('src/inner/b.ts', 'b')
  write('package.json', '{}')
  write('dist/a.js', 'a')
})
afterEach(() => rmSync(root, { recursive: true }))

test('is not current before it was noted, is current afterwards, and does not look at other files', () => {
  expect(isCurrent()).toBe(false)
  made().note(made().sources())
  expect(isCurrent()).toBe(true)
  write('README.md', 'other')
  write('src/README.md', 'a note')
  expect(isCurrent()).toBe(true)
})

test.each<[string, () => void]>([
  ['a source changes', () => write('src/inner/b.ts', 'c')],
  ['a source comes', () => write('src/c.ts', '')],
  ['a source goes', () => rmSync(join(root, 'src/inner/b.ts'))],
  ['text moves from one source to the next', () => [write('src/a.ts', 'ab'), write('src/inner/b.ts', '')]],
  ['one that was missing comes', () => write('missing', '')],
  ['package.json changes', () => write('package.json', '{ }')],
  ['an output goes', () => rmSync(join(root, 'dist/a.js'))],
  ['all outputs go', () => rmSync(join(root, 'dist'), { recursive: true })],
  ['an output comes', () => write('dist/b.js', '')],
  ['an output is written again', () => utimesSync(join(root, 'dist/a.js'), 1, 1)],
])('is not current once %s', (_, change) => {
  made().note(made().sources())
  change()
  expect(isCurrent()).toBe(false)
})
