import { defineConfig } from 'vitest/config'

/** By its name without the ending. */
const test = (name: string): string => `test/${name}.test.ts`

/** Without threads and state of their own: they share a process, in which each module is loaded once. */
const unit = [
  ...['capture', 'counters', 'files', 'report', 'stats', 'trace', 'transport', 'wire'].map(
    (folder) => `test/${folder}/**/*.test.ts`,
  ),
  ...[
    'test/*.test.ts',
    'test/cm/*.test.ts',
    'test/gateway/{,config/,hooks/}*.test.ts',
    'test/rsocket/protocol/*.test.ts',
    'test/verbs/**/*.test.ts',
  ],
  ...['architecture', 'cli/terminal', 'docs', 'package'].map((folder) => `test/${folder}/*.test.ts`),
  ...['attacks/promises', 'compliance/meta', 'devices/middleware/layers', 'memory/pages'].map(test),
  ...['node/preload/rules', 'rsocket/runtime/spin-time'].map(test),
  ...['bench-kit/*', 'bench-latency/show', 'bench-rsocket/cost', 'perf/limits', 'perf/options', 'perf/recorder']
    .map((name) => `tools/${name}`)
    .map(test),
  ...['pingpong/exchange', 'rs-kit/figures'].map((name) => test(`tools/${name}`)),
]
/**
 * They look at what is allocated. V8 compiles at once what is called often, not in a thread behind: on a loaded machine that
 * thread may get no processor for longer than a test takes, and code that is not compiled yet allocates.
 */
const alone = ['test/**/*allocation.test.ts']
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
        test: { name: 'whole', include: ['test/**/*.test.ts'], exclude: [...slower, ...unit, ...alone], pool: 'forks' },
      },
      {
        extends: true,
        test: { name: 'alone', include: alone, pool: 'forks', execArgv: ['--no-concurrent-recompilation'] },
      },
    ],
  },
})
