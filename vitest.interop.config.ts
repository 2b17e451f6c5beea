import { defineConfig } from 'vitest/config'

// Against real peers: Soft-RoCE guests. Where they cannot run, it is said what is missing, and the tests are skipped.

/** Those that compare files, and those whose brokers and daemons have ports and folders of their own: they run beside each other. */
const beside = [
  'test/interop/*-tshark.test.ts',
  'test/interop/monitor-prometheus.test.ts',
  'test/interop/gateway/*.test.ts',
]

export default defineConfig({
  test: {
    globalSetup: ['test/interop/global-setup.ts'],
    passWithNoTests: true,
    // Of tests that may run at once.
    maxConcurrency: 2,
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    reporters: ['default', './test/stuck-reporter.ts', './test/tally-reporter.ts', './test/interop/ran-reporter.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'beside each other', include: beside, maxWorkers: 3, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          ...{ name: 'one by one', include: ['test/interop/**/*.test.ts'], exclude: beside },
          ...{ maxWorkers: 1, fileParallelism: false, sequence: { groupOrder: 1 } },
        },
      },
    ],
  },
})
