/**
 * For runs in which threads that wait do not look by themselves (VERBENA_LOOKS=0, memory/looks.ts): a test that passes but takes much
 * longer than usual has waited for such a look, so that a wake-up is missing. Prints these, and what all took together, and fails the run.
 *
 * What is usual is in the file that VERBENA_TEST_TIMES names, which an earlier run of vitest has written (tally-reporter.ts).
 */
import { existsSync, readFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'
import { keyOf } from './tally-reporter.ts'

/** So many times as long as usual is too long, but not less than `leastMs`: a look comes after 20 s. */
const mostTimes = 10
const leastMs = 15_000

/** These wait for what makes no event. */
const exempt = ['one that cannot be reached goes on all the same, by looking']

export default class LooksReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const file = process.env.VERBENA_TEST_TIMES ?? ''
    const usual: Record<string, number> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
    let [sum, usualSum] = [0, 0]
    const late: string[] = []
    for (const module of modules)
      for (const test of module.children.allTests()) {
        const ms = test.diagnostic()?.duration ?? 0
        const before = usual[keyOf(test)]
        if (before !== undefined) {
          sum += ms
          usualSum += before
        }
        const most = Math.max(leastMs, mostTimes * (before ?? 0))
        if (ms > most && !exempt.includes(test.name))
          late.push(`  ${(ms / 1000).toFixed(1)} s, usually ${before?.toFixed(0) ?? '?'} ms: ${keyOf(test)}`)
      }
    if (usualSum > 0)
      console.log(`without looks ${(sum / 1000).toFixed(1)} s of tests, usually ${(usualSum / 1000).toFixed(1)} s`)
    if (late.length === 0) return
    console.log(`these have waited for a look, since nobody woke them:\n${late.join('\n')}`)
    process.exitCode = 1
  }
}
