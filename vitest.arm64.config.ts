import { defineConfig } from 'vitest/config'
// @ts-expect-error: a script without types.
import { arm64Launcher, whyNotArm64 } from './scripts/arm64.mjs'
import { files } from './test/arm64/files.ts'
import { asNode, toSource } from './test/sources.ts'

// What depends on the processor, on arm64 under an emulator: vitest starts the processes of tests by `process.execPath`, and
// gives them their modules, so that what is emulated is the tests and not their transformation. The emulator runs on a processor
// that keeps stores in order; what a weaker one may do is test/weak-memory's.
const reason = whyNotArm64()
if (reason) throw new Error(`Node.js for arm64 cannot be had: ${reason}`)
process.execPath = arm64Launcher()

/** Those of `shared` in vitest.config.ts share a process here, too: a start takes seconds. */
const shared = files.filter((file) => /^test\/(docs|node|rsocket)\//.test(file))

export default defineConfig({
  test: {
    onStackTrace: (_, frame) => toSource(frame),
    globalSetup: ['./test/entries.ts', './test/arm64/reached.ts'],
    projects: [
      {
        extends: true,
        plugins: asNode.plugins,
        test: { ...asNode.test, name: 'shared', include: shared, isolate: false },
      },
      {
        extends: true,
        plugins: asNode.plugins,
        test: { ...asNode.test, name: 'whole', include: files.filter((file) => !shared.includes(file)) },
      },
    ],
    // QEMU has no io_submit, and passes on no interface of struct ip_mreqn: the kernel then looks for one of the number 1.
    testNamePattern: /^(?!.*(\b100 multicast|\bpoll requests\b))/,
    maxWorkers: 2,
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 120_000,
    reporters: ['default', './test/stuck-reporter.ts', './test/tally-reporter.ts'],
  },
})
