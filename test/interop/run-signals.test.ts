/** Signals that interrupt the calls of a program under `verbena run`. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { has, lacking, run, well } from './run-kit.ts'

const compiler = has('gcc') && existsSync('/usr/include/infiniband/verbs.h') ? [] : ["gcc and Debian's libibverbs-dev"]
if (compiler.length > 0) console.warn(`skipped: a program that signals interrupt needs ${compiler.join(', ')}`)

test.skipIf(lacking.length + compiler.length > 0)(
  'a program whose ibv_req_notify_cq signals interrupt gets its events all the same',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-run-signals-'))
    try {
      const program = join(folder, 'interrupted-arming')
      const source = new URL('programs/interrupted-arming.c', import.meta.url).pathname
      execFileSync('gcc', ['-O1', '-Wall', '-Werror', '-o', program, source, '-libverbs'])
      expect(well(await run(`timeout 60 ${program} 100`))).toBe('100 events, 0 failures\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
