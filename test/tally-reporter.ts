/** Ends a run with one plain line, `N passed, N failed, N skipped`, which any tool can read. */
import type { Reporter, TestModule } from 'vitest/node'

export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tally = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0) tally.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state in tally) tally[state as keyof typeof tally]++
      }
    }
    console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`)
  }
}
