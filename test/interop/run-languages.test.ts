/** Programs in Rust and Go under `verbena run`: compiled here, where the compilers are, against Debian's libibverbs. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { has, run, lacking as runLacks, well } from './run-kit.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-run-languages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const compilers = {
  rs: ['rustc', '--edition', '2021', '-o'],
  go: ['go', 'build', '-o'],
} as const

for (const [suffix, [compiler, ...options]] of Object.entries(compilers)) {
  const lacking = [...runLacks, ...['gcc', compiler].filter((program) => !has(program))]
  if (!existsSync('/usr/include/infiniband/verbs.h')) lacking.push("libibverbs's headers (Debian's libibverbs-dev)")
  if (lacking.length > 0)
    console.warn(`skipped: a program of ${compiler} under \`verbena run\` needs ${lacking.join(', ')}`)

  test.skipIf(lacking.length > 0)(`a program of ${compiler}: threads that sleep until messages have come`, async () => {
    const program = join(folder, suffix)
    const source = new URL(`programs/run-echo.${suffix}`, import.meta.url).pathname
    execFileSync(compiler, [...options, program, source], { stdio: 'pipe' })
    expect(well(await run(program))).toMatch(/^\d+ messages came back changed\n$/)
  })
}
