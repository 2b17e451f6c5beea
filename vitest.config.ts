import { defineConfig } from 'vitest/config'

/** Without processes and state of their own: they share a process, in which each module is loaded once. */
const unit = [
  ...['capture', 'files', 'report', 'stats', 'trace', 'transport', 'wire'].map(
    (folder) => `test/${folder}/**/*.test.ts`,
  ),
  ...['test/*.test.ts', 'test/cm/*.test.ts', 'test/rsocket/protocol/*.test.ts', 'test/verbs/**/*.test.ts'],
]
/** They look at what is allocated, or at the modules that are loaded. */
const alone = ['test/**/no-allocation.test.ts']
/** `npm run test:slow` has them, and what needs more than Node.js. */
const slower = ['test/**/*.slow.test.ts', 'test/browser/**', 'test/interop/**', 'test/slow/**']

// What `npm test` runs: everything that needs nothing but Node.js and is quick. Three workers also on two cores, because a third
// of the time is waiting: for processes to start, for timers, for peers that answer nothing.
export default defineConfig({
  test: {
    globalSetup: ['./test/entries.ts'],
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/tally-reporter.ts'],
    coverage: { provider: 'v8', include: ['src/**'], exclude: ['src/**/*.mjs'] },
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: unit, exclude: [...slower, ...alone], pool: 'forks', isolate: false },
      },
      {
        extends: true,
        test: { name: 'whole', include: ['test/**/*.test.ts'], exclude: [...slower, ...unit], pool: 'forks' },
      },
      { extends: true, test: { name: 'alone', include: alone, pool: 'forks' } },
    ],
  },
})
