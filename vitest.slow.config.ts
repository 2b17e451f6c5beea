import { defineConfig } from 'vitest/config'

// The slower suites: the whole matrix of compliance, attacks, processes that are killed, pages in a real browser
// (`.slow.test.ts`); and the random tests of `npm test` once more, with many times as many runs (`.random.test.ts`).
export default defineConfig({
  test: {
    include: [
      'test/**/*.slow.test.ts',
      'test/**/*.random.test.ts',
      'test/browser/**/*.test.ts',
      'test/slow/**/*.test.ts',
    ],
    env: { VERBENA_SLOW: '1' },
    globalSetup: ['./test/entries.ts'],
    maxWorkers: 2,
    testTimeout: 600_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    reporters: ['default', './test/tally-reporter.ts'],
  },
})
