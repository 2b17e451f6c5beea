/**
 * Ends a run with one plain line, `N passed, N failed, N skipped`, which any tool can read. What fails outside of a test
 * counts as one failure: a file that cannot be loaded or set up, or an error that nobody caught. A run without any test
 * says nothing. The line before it tells how many runs the properties (property.ts) completed.
 *
 * VERBENA_FAILED_FILES names a file that gets the paths of the test files that failed, one a line, for whoever wants to run
 * these once more. It stays empty if that would prove nothing: a property with a counterexample has failed, whatever other
 * inputs do, and an error that belongs to no file may come from any.
 *
 * VERBENA_FAILURES names a file to which each failure is added: its test, and the beginning of what was thrown.
 *
 * VERBENA_TEST_TIMES names a file that gets how long each test took, as JSON: milliseconds by `keyOf`.
 *
 * VERBENA_SLOWEST: so many of the files that took longest are named before the tally, for whoever has to make a suite shorter.
 */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node'

export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tally = { passed: 0, failed: errors.length, skipped: 0 }
    let runs = 0
    let counterexamples = 0
    const times: Record<string, number> = {}
    const failures = errors.map((error) => failureOf('outside of a test', [error]))
    // Of a worker that was killed (stuck-reporter.ts) only the files that it left tell.
    const ofFiles = errors.filter(({ message }) => !String(message).startsWith('[vitest-pool]: Worker'))
    const files = new Set(ofFiles.map((error) => String(error.VITEST_TEST_PATH ?? '')))
    const left = modules.filter((module) => module.state() === 'pending' || module.state() === 'queued')
    for (const module of left) files.add(module.moduleId)
    if (ofFiles.length < errors.length && left.length === 0) files.add('')
    for (const module of modules) {
      let failed = 0
      for (const test of module.children.allTests()) {
        const { state, errors: thrown = [] } = test.result()
        const { propertyRuns = 0, propertyFailed = false } = test.meta()
        runs += propertyRuns
        times[keyOf(test)] = test.diagnostic()?.duration ?? 0
        if (state === 'failed') {
          failed++
          failures.push(failureOf(keyOf(test), thrown))
          if (propertyFailed) counterexamples++
        } else if (state in tally) tally[state as 'passed' | 'skipped']++
      }
      if (module.state() === 'failed') {
        files.add(module.moduleId)
        if (failed === 0) failures.push(failureOf(relative(process.cwd(), module.moduleId), module.errors()))
      }
      tally.failed += module.state() === 'failed' ? Math.max(failed, 1) : failed
    }
    const { VERBENA_FAILED_FILES: list, VERBENA_TEST_TIMES: timesFile, VERBENA_LOOKS: looks } = process.env
    if (process.env.VERBENA_FAILURES && failures.length > 0)
      appendFileSync(process.env.VERBENA_FAILURES, failures.join(''))
    if (timesFile && looks !== '0') {
      mkdirSync(dirname(timesFile), { recursive: true })
      writeFileSync(timesFile, JSON.stringify(times))
    }
    if (list) writeFileSync(list, counterexamples > 0 || files.has('') ? '' : listOf(files))
    if (tally.passed + tally.failed + tally.skipped === 0) return
    tellSlowest(modules, Number(process.env.VERBENA_SLOWEST ?? 0))
    if (runs > 0) console.log(`${runs.toLocaleString('en')} runs of properties`)
    console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`)
  }
}

function tellSlowest(modules: readonly TestModule[], most: number): void {
  if (most === 0) return
  const all = modules.map(
    (module) => [module.diagnostic().duration / 1000, relative(process.cwd(), module.moduleId)] as const,
  )
  all.sort(([a], [b]) => b - a)
  const togetherS = all.reduce((sum, [seconds]) => sum + seconds, 0)
  console.log(`${togetherS.toFixed(0)} s of tests in ${all.length} files, of which these took longest:`)
  for (const [seconds, file] of all.slice(0, most)) console.log(`${seconds.toFixed(1).padStart(8)} s  ${file}`)
}

function listOf(files: ReadonlySet<string>): string {
  return [...files].map((file) => `${relative(process.cwd(), file)}\n`).join('')
}

const mostOfFailure = 800

/** A line with the test, and the beginning of each message and of what was not as expected, indented. */
function failureOf(test: string, errors: readonly SerializedError[]): string {
  const messages = errors.map(({ message = '', diff = '' }) =>
    stripVTControlCharacters(`${message}\n${diff}`).trim().slice(0, mostOfFailure),
  )
  return `${test}\n${messages.map((message) => `${message.replace(/^/gm, '    ')}\n`).join('')}`
}

/** Its file and full name. */
export function keyOf(test: TestCase): string {
  return `${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}`
}
