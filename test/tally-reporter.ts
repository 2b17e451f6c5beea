/**
 * Ends a run with one plain line, `N passed, N failed, N skipped`, which any tool can read. What fails outside of a test
 * counts as one failure: a file that cannot be loaded or set up, or an error that nobody caught. A run without any test
 * says nothing. The line before it tells how many runs the properties (property.ts) completed.
 */
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tally = { passed: 0, failed: errors.length, skipped: 0 }
    let runs = 0
    for (const module of modules) {
      let failed = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        runs += test.meta().propertyRuns ?? 0
        if (state === 'failed') failed++
        else if (state in tally) tally[state as 'passed' | 'skipped']++
      }
      tally.failed += module.state() === 'failed' ? Math.max(failed, 1) : failed
    }
    if (tally.passed + tally.failed + tally.skipped === 0) return
    if (runs > 0) console.log(`${runs.toLocaleString('en')} runs of properties`)
    console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`)
  }
}
