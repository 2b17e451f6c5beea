/** Modules of src/ that Node has imported are not vitest's to mock, or to load once more: a test that does so would test nothing. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { mocking } from './sources.ts'

it('tests that mock modules, or load them anew, are in the list of those that get them from vitest', () => {
  const root = new URL('./', import.meta.url)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^(?!.*(node_modules|allocation|slow)).*\.test\.ts$/.test(path))
    .filter((path) => /\bvi\.((do)?[mM]ock\(\s*'\.|resetModules\(\))/.test(readFileSync(new URL(path, root), 'utf8')))
  expect(files.map((path) => `test/${path}`).sort()).toEqual([...mocking])
})
