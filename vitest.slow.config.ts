import { defineConfig } from 'vitest/config'

// The slower suites: pages in a real browser, long property tests, processes that are killed.
export default defineConfig({
  test: {
    include: [
      'test/browser/**/*.test.ts',
      'test/slow/**/*.test.ts',
      'test/attacks/**/*.test.ts',
      'test/devices/roce/churn.test.ts',
      'test/verbs-model/**/*.test.ts',
      'test/cm/bad-input.test.ts',
      'test/cm/lossy.test.ts',
      'test/wire/mutations.test.ts',
      'test/transport/traffic.test.ts',
      'test/transport/bad-input.test.ts',
      'test/transport/model.test.ts',
    ],
    env: { VERBENA_SLOW: '1' },
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 120_000,
    reporters: ['default', './test/tally-reporter.ts'],
  },
})
