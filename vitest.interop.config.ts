import { defineConfig } from 'vitest/config'

// Against real peers. Suites skip themselves, saying why, where a peer cannot run.
export default defineConfig({
  test: {
    include: ['test/interop/**/*.test.ts'],
    passWithNoTests: true,
    maxWorkers: 1,
    testTimeout: 600_000,
    reporters: ['default', './test/tally-reporter.ts'],
  },
})
