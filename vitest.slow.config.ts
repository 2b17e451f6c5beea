import { defineConfig } from 'vitest/config'
import { asNode, toSource } from './test/sources.ts'

// The slower suites: the whole matrix of compliance, attacks, processes that are killed, pages in a real browser
// (`.slow.test.ts`); the random tests of `npm test` once more, with many times as many runs (`.random.test.ts`); and those
// that look at what is allocated. For these V8 compiles at once what is called often, not in a thread behind: on a loaded
// machine that thread may get no processor for longer than a test takes, and code that is not compiled yet allocates.
const allocation = ['test/**/*allocation.test.ts']
/**
 * Properties that only compute: their time is a number that they move, and no thread or process waits. They share processes, and
 * `.ci/run` lets them have what processor time the tests against real peers leave.
 */
const computed = [
  ...['counters', 'management', 'monitor', 'sketch', 'text', 'transport', 'verbs-model', 'wire'].map(
    (folder) => `test/${folder}/*.random.test.ts`,
  ),
  ...['cm', 'gateway', 'gateway/api', 'gateway/config', 'rsocket/protocol'].map(
    (folder) => `test/${folder}/*.random.test.ts`,
  ),
  ...['accuracy', 'bounds'].map((name) => `test/sketch/${name}.slow.test.ts`),
  ...['collectives/schedule', 'memory/route-messages', 'run/front/filter', 'verbs/provider/served'].map(
    (name) => `test/${name}.random.test.ts`,
  ),
]

export default defineConfig({
  test: {
    onStackTrace: (_, frame) => toSource(frame),
    env: { VERBENA_SLOW: '1' },
    globalSetup: ['./test/entries.ts'],
    // More than cores: half of the time is waiting, for processes that start or are killed, and for time limits.
    maxWorkers: 4,
    testTimeout: 600_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    reporters: ['default', './test/stuck-reporter.ts', './test/tally-reporter.ts'],
    projects: [
      {
        extends: true,
        plugins: asNode.plugins,
        test: {
          ...{ ...asNode.test, name: 'slow', exclude: [...computed, '**/node_modules/**'] },
          include: [
            'test/**/*.slow.test.ts',
            'test/**/*.random.test.ts',
            'test/browser/**/*.test.ts',
            'test/slow/**/*.test.ts',
          ],
        },
      },
      {
        extends: true,
        plugins: asNode.plugins,
        test: { ...asNode.test, name: 'computed', include: computed, isolate: false },
      },
      {
        extends: true,
        plugins: asNode.plugins,
        test: {
          ...{ ...asNode.test, name: 'allocation', include: allocation },
          execArgv: ['--no-concurrent-recompilation', '--min-semi-space-size=64', '--max-semi-space-size=64'],
        },
      },
    ],
  },
})
