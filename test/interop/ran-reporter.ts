/**
 * Which unmodified programs a run of the interoperation tests has run. With VERBENA_UPDATE_DOCS=1 it writes that down; else a test whose row
 * is missing fails the run.
 */
import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { type RanRow, ranOf, readRows, updated, writeRows } from './ran.ts'

export default class RanReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const found: RanRow[] = []
    const files = new Set<string>()
    const skipped = new Set<string>()
    const date = new Date().toISOString().slice(0, 10)
    for (const module of modules) {
      const file = basename(module.moduleId)
      for (const one of module.children.allTests()) {
        const ran = ranOf(file, one.fullName)
        if (ran === undefined) continue
        files.add(file)
        const test = `${file} > ${one.fullName}`
        const { state } = one.result()
        if (state !== 'passed' && state !== 'failed') skipped.add(test)
        else found.push({ test, ...ran, version: versionOf(ran.package), result: state, date })
      }
    }
    if (found.length === 0) return
    if (process.env.VERBENA_UPDATE_DOCS === '1') {
      writeRows(updated(readRows(), files, skipped, found))
      return
    }
    const known = new Set(readRows().map(({ test }) => test))
    const missing = found.filter(({ test }) => !known.has(test))
    if (missing.length === 0) return
    console.error(`no row in test/interop/ran.json; write it with VERBENA_UPDATE_DOCS=1 npm run test:interop:`)
    for (const { test } of missing) console.error(`  ${test}`)
    process.exitCode = 1
  }
}

const versions = new Map<string, string>()

/** That of Debian's package. */
function versionOf(name: string): string {
  const known = versions.get(name)
  if (known !== undefined) return known
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own format.
  const { stdout } = spawnSync('dpkg-query', ['--show', '--showformat=${Version}', name], { encoding: 'utf8' })
  versions.set(name, stdout)
  return stdout
}
