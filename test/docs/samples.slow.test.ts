/**
 * The programs of the documentation compile under `strict` and `noUncheckedIndexedAccess` against the built package: each block
 * of `js`, `mjs` or `ts` that begins with its imports. One of JavaScript may leave types of its parameters out.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksOf, pages, root, textOf } from './markdown.ts'

const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  noEmit: true,
  skipLibCheck: true,
}
let folder = ''
const names: string[] = []

/** Names of files say where a block comes from: `docs-guide-net.md-1.mts` is the second of docs/guide/net.md. */
function write(kind: 'js' | 'ts', page: string, programs: readonly string[]): void {
  for (const [i, program] of programs.entries()) {
    if (!/^(\/\/[^\n]*\n)*import /.test(program)) continue
    const name = `${page.replaceAll('/', '-')}-${i}.mts`
    writeFileSync(join(folder, kind, name), program)
    names.push(name)
  }
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verbena-samples-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/verbena'))
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  for (const kind of ['js', 'ts']) {
    mkdirSync(join(folder, kind))
    const options = { ...compilerOptions, noImplicitAny: kind === 'ts' }
    writeFileSync(join(folder, kind, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.mts'] }))
  }
  for (const page of pages.filter((name) => name === 'README.md' || name.startsWith('docs/'))) {
    const text = textOf(page)
    write('js', page, blocksOf(text, 'js', 'mjs'))
    write('ts', page, blocksOf(text, 'ts'))
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('there are programs in the pages on sockets, the RDMA CM, and the verbs', () => {
  for (const page of ['README', 'net', 'rsocket', 'rdma-cm', 'verbs'])
    expect(names.some((name) => name.includes(`${page}.md`))).toBe(true)
})

it.each(['js', 'ts'])('programs in %s', async (kind) => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const checked = promisify(execFile)(process.execPath, [tsc, '-p', join(folder, kind)])
  const { stdout } = await checked.catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')
})
