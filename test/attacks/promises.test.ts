/** docs/internals/security.md: each promise names a test, which exists and can run. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { layout } from '../../src/verbs/provider/index.ts'

const root = new URL('../../', import.meta.url)
const text = readFileSync(new URL('docs/internals/security.md', root), 'utf8')

it('the tests that docs/internals/security.md names exist', () => {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && /\| [^|]*`[a-z-]+\/[\w/-]+`[^|]* \|$/.test(line))
  expect(rows.length).toBeGreaterThan(20)
  for (const row of rows) {
    const names = [...row.slice(row.lastIndexOf('|', row.length - 2)).matchAll(/`([\w/-]+)`/g)].map(
      (match) => match[1]!,
    )
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) {
      const files = ['test', 'random.test', 'slow.test'].map((kind) => new URL(`test/${name}.${kind}.ts`, root))
      const file = files.find((each) => existsSync(each))
      expect(file, name).toBeDefined()
      expect(readFileSync(file!, 'utf8'), name).toMatch(/\b(it|test|test[A-Z]\w*)\b.*\(/)
    }
  }
})

it('the counters of devices that it names exist', () => {
  const names = [...text.matchAll(/`((?:cm|drops|resp|ud|gsi)_\w+|events_lost|cq_overruns)`/g)].map(
    (match) => match[1]!,
  )
  expect(names.length).toBeGreaterThan(5)
  for (const name of names) expect(layout.counterNames, name).toContain(name)
})
