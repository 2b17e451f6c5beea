/** docs/reference/environment.md and the sources name the same variables. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root, textOf } from './markdown.ts'

const namesIn = (text: string): string[] => text.match(/\bVERBENA_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []

it('every variable and every code of a warning is there, and no others are', () => {
  const sources = (readdirSync(join(root, 'src'), { recursive: true }) as string[]).filter((file) =>
    /\.m?ts$/.test(file),
  )
  const used = new Set(sources.flatMap((file) => namesIn(readFileSync(join(root, 'src', file), 'utf8'))))
  expect(used.size).toBeGreaterThan(10)
  const page = textOf('docs/reference/environment.md')
  expect([...new Set(namesIn(page))].sort()).toEqual([...used].sort())
  for (const name of used) expect(page, 'it has a row of its own').toMatch(new RegExp(`^\\| \`${name}\` \\|`, 'm'))
})
