/**
 * ARCHITECTURE.md and the notes at the head of folders (README.md): what they name exists, they are short, and each is found from the first.
 * So it is with docs/internals/recipes.md.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { linksOf, namesOf, pages, root, textOf } from './markdown.ts'

const notes = pages.filter((page) => /^(src|bench|scripts)\/(.*\/)?README\.md$|^test\/README\.md$/.test(page))
const recipes = 'docs/internals/recipes.md'
const folders = ['src', 'bench', 'scripts', 'test']
const files = folders.flatMap((folder) =>
  (readdirSync(join(root, folder), { recursive: true }) as string[]).map((name) => join(folder, name)),
)
const sources = files.filter((file) => /\.(ts|mjs)$/.test(file) && !file.includes('node_modules'))
const code = new Set(sources.flatMap((file) => readFileSync(join(root, file), 'utf8').match(/[A-Za-z_]\w*/g) ?? []))

/** A name of a file or a folder is relative to the note's folder or one below it, to src/ or to the project. */
function isThere(note: string, name: string): boolean {
  const below = (file: string): boolean => note !== 'ARCHITECTURE.md' && file.startsWith(`${dirname(note)}/`)
  return (
    [dirname(note), 'src', '.'].some((folder) => existsSync(join(root, folder, name))) ||
    files.some((file) => below(file) && file.endsWith(`/${name}`))
  )
}

describe('what is read of a note', () => {
  it('files, folders and words of code, but no options, environment variables or values', () => {
    const text =
      '`a/b.ts` `c/` `d.mjs` `/dev/shm` `npm run x` `E.f` `g(h)` `i` `--json` `{ j: 1 }` `.slow.test.ts`\n```\n`k.ts`\n```\n'
    expect(namesOf(text)).toEqual({ files: ['a/b.ts', 'c/', 'd.mjs'], words: ['E', 'f', 'g', 'h', 'i'] })
  })
})

it('src/, bench/, scripts/ and test/ have notes', () => {
  expect(notes.length).toBeGreaterThan(20)
  for (const folder of folders) expect(notes.some((note) => note.startsWith(folder))).toBe(true)
})

describe.each(['ARCHITECTURE.md', ...notes])('%s', (note) => {
  const text = textOf(note)

  it('names files and folders that exist', () => {
    expect(namesOf(text).files.filter((name) => !isThere(note, name))).toEqual([])
  })

  it('names what the code has', () => {
    expect(namesOf(text).words.filter((word) => !code.has(word))).toEqual([])
  })
})

it('ARCHITECTURE.md is one page: 8 KB', () => {
  expect(Buffer.byteLength(textOf('ARCHITECTURE.md'))).toBeLessThanOrEqual(8192)
})

it.each(notes)('%s is a page or less: 1 to 6 KB', (note) => {
  const length = textOf(note).length
  expect(length).toBeGreaterThanOrEqual(1000)
  expect(length, 'move a part to the folder that it speaks of').toBeLessThanOrEqual(6144)
})

it('ARCHITECTURE.md links to every note', () => {
  const linked = new Set(linksOf(textOf('ARCHITECTURE.md')).map(({ path }) => normalize(path)))
  expect(notes.filter((note) => !linked.has(note))).toEqual([])
})

const parts = textOf(recipes).split(/^## /m).slice(1)

describe.each(parts.map((part) => [part.slice(0, part.indexOf('\n')), part] as const))(
  'the recipe of %s',
  (_, text) => {
    const { files: named, words } = namesOf(text)

    it('names files, folders and code that exist', () => {
      let folder = ''
      for (const name of named) {
        if (name.includes('/')) folder = name.slice(0, name.lastIndexOf('/'))
        const path = name.includes('/') || existsSync(join(root, name)) ? name : `${folder}/${name}`
        if (!path.includes('NAME')) expect([name, existsSync(join(root, path))]).toEqual([name, true])
      }
      expect(words.filter((word) => word !== 'NAME' && !code.has(word))).toEqual([])
    })

    it('is at most 16 lines', () => {
      const lines = text
        .split('\n')
        .slice(1)
        .filter((line) => line !== '')
      expect(lines.length).toBeLessThanOrEqual(16)
    })
  },
)
