import { defineConfig } from 'vitest/config'

// Against real peers: Soft-RoCE guests. Where they cannot run, it is said what is missing, and the tests are skipped.
export default defineConfig({
  test: {
    include: ['test/interop/**/*.test.ts'],
    globalSetup: ['test/interop/global-setup.ts'],
    passWithNoTests: true,
    maxWorkers: 1,
    fileParallelism: false,
    // Of tests that may run at once.
    maxConcurrency: 2,
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    reporters: ['default', './test/stuck-reporter.ts', './test/tally-reporter.ts', './test/interop/ran-reporter.ts'],
  },
})
