/** The build finds the modules that threads and processes start with, and refuses what would fail when they start. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterEach, expect, it } from 'vitest'
// @ts-expect-error: a script, which has no types
import { startedModules } from '../../scripts/started-modules.mjs'

const root = mkdtempSync(join(tmpdir(), 'verbena-build-'))
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** The entry points of a program with these modules below src/. */
async function entriesOf(modules: Record<string, string>): Promise<string[]> {
  for (const [name, code] of Object.entries(modules)) {
    const file = join(root, 'src', name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
  }
  const input = { main: join(root, 'src/main.ts') }
  const build = await rolldown({ input, plugins: [startedModules(root, { main: 'src/main.ts' })], logLevel: 'silent' })
  const { output } = await build.generate()
  await build.close()
  return output.flatMap((chunk) => (chunk.type === 'chunk' && chunk.isEntry ? chunk.fileName : [])).sort()
}

const starts = (...paths: string[]): string =>
  [
    'const entryModule = (...all: unknown[]) => all',
    ...paths.map((path) => `console.log(entryModule(import.meta.url, '${path}'))`),
  ].join('\n')

it('makes an entry point of each, once, wherever it is', async () => {
  const entries = await entriesOf({
    'main.ts': starts('./deep/thread', './main'),
    'deep/thread.ts': starts('../process', './thread'),
    'process.ts': 'console.log(1)',
  })
  expect(entries).toEqual(['main.js', 'process.js', 'thread.js'])
})

it.each([
  ['that is not there', { 'main.ts': starts('./nothing') }, /there is no module .*nothing\.ts to start with/],
  [
    'whose base name another has',
    { 'main.ts': starts('./a/thread', './b/thread'), 'a/thread.ts': 'console.log(1)', 'b/thread.ts': 'console.log(2)' },
    /would both be thread\.js/,
  ],
  [
    'whose path is not a literal',
    { 'main.ts': `${starts()}\nexport const start = (name: string) => entryModule(import.meta.url, name)` },
    /understands entryModule\(import\.meta\.url, 'path'\) only/,
  ],
])('refuses one %s', async (_, modules, message) => {
  await expect(entriesOf(modules as Record<string, string>)).rejects.toThrow(message)
})
