import { defineConfig } from 'vitest/config'

// What `npm test` runs: everything that needs nothing but Node.js. Two workers, because verbs tests start threads that poll.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**', 'test/interop/**', 'test/slow/**'],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/tally-reporter.ts'],
    coverage: { provider: 'v8', include: ['src/**'], exclude: ['src/**/*.mjs'] },
  },
})
