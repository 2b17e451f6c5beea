import { defineConfig } from 'vitest/config'

const guests = [
  'cm',
  'collect',
  'guests',
  'perftest',
  'pingpong',
  'replay-packets',
  'replay-verbs',
  'rsocket',
  'run-rdma-core',
  'run-roce',
  'run-yama',
  'sharing',
].map((name) => `test/interop/${name}.test.ts`)

/** It measures, and counts only what nothing disturbs. */
const quiet = 'test/interop/traffic-load.test.ts'

// Against real peers. Where these cannot run, it is said what is missing, and the tests are skipped.
export default defineConfig({
  test: {
    passWithNoTests: true,
    maxWorkers: 1,
    fileParallelism: false,
    // Of tests that may run at once.
    maxConcurrency: 2,
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    reporters: ['default', './test/stuck-reporter.ts', './test/tally-reporter.ts', './test/interop/ran-reporter.ts'],
    // Half of the time of the first two is waiting: `.ci/run` runs them beside each other.
    projects: [
      /** Soft-RoCE in guests, and what they meet. */
      { extends: true, test: { name: 'guests', include: guests, globalSetup: ['test/interop/global-setup.ts'] } },
      /** Programs of this machine: under `verbena run`, brokers, tshark, launchers of MPI. */
      {
        extends: true,
        test: { name: 'programs', include: ['test/interop/**/*.test.ts'], exclude: [...guests, quiet] },
      },
      { extends: true, test: { name: 'alone', include: [quiet] } },
    ],
  },
})
