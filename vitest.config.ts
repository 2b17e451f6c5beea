import { defineConfig } from 'vitest/config'
import { asNode, mocking, toSource } from './test/sources.ts'

/** By its name without the ending. */
const test = (name: string): string => `test/${name}.test.ts`

/** Without threads and state of their own: they share a process, in which each module is loaded once. */
const unit = [
  ...[
    'capture',
    'collect',
    'counters',
    'files',
    'management',
    'replay',
    'report',
    'sketch',
    'stats',
    'trace',
    'transport',
    'verbs-model',
    'wire',
  ].map((folder) => `test/${folder}/**/*.test.ts`),
  ...[
    'test/*.test.ts',
    'test/collectives/{combine,schedule.random}.test.ts',
    'test/cm/*.test.ts',
    'test/gateway/{,config/,hooks/}*.test.ts',
    'test/monitor/*.test.ts',
    'test/rsocket/protocol/*.test.ts',
    // Where the built package is loaded, too, a test that stays in an operation would make that wait for ever.
    'test/verbs/{,api/}!(channel).test.ts',
    'test/verbs/provider/!(lifetime|reclaim.random).test.ts',
  ],
  ...[
    'architecture',
    'cli/terminal',
    'docs',
    'gateway/page',
    'package',
    'spelling',
    'text',
    'traffic',
    'weak-memory',
  ].map((folder) => `test/${folder}/*.test.ts`),
  ...['attacks/promises', 'compliance/meta', 'devices/middleware/layers'].map(test),
  ...[
    'memory/clock',
    'memory/copy',
    'memory/crc32',
    'memory/looks',
    'memory/pages',
    'memory/polling',
    'memory/route-messages.random',
    'memory/slices',
    'memory/system-calls',
  ].map(test),
  ...[
    'devices/roce/host-changes',
    'devices/roce/layout',
    'devices/roce/process-lists.random',
    'devices/shm/process-lists.random',
    'memory/route-tables',
    'node/link',
    'node/preload/rules',
    'rsocket/runtime/spin-time',
  ].map(test),
  test('run/front/{filter.random,host,numbers,paths,programs,sysfs}'),
  test('run/watch/watch'),
  ...['bench-kit/*', 'bench-latency/show', 'bench-rsocket/cost', 'perf/limits', 'perf/options', 'perf/recorder']
    .map((name) => `tools/${name}`)
    .map(test),
  ...['collective/interval', 'pingpong/exchange', 'rs-kit/figures'].map((name) => test(`tools/${name}`)),
]
/**
 * With threads, devices and sockets of their own, which they close: they share a process, too, since importing what they need
 * takes longer than most of them. No test here counts what a process holds (which takes long where it holds much), or kills or changes what others rely on.
 */
const shared = [
  'test/collectives/launch/*.test.ts',
  'test/collectives/{calls,lane,long,lossy.random,mesh,multicast,programs.random}.test.ts',
  'test/cm/rdma/!(limits|lossy.random).test.ts',
  'test/gateway/{api,nodes,runtime}/**/*.test.ts',
  'test/monitor/{api,host}/*.test.ts',
  'test/node/{,dgram/,net/}*.test.ts',
  'test/rsocket/runtime/*.test.ts',
  'test/rsocket/sockets/!(cost).test.ts',
  'test/run/{rdma-cm,uverbs,umad,watch}/*.test.ts',
  'test/run/front/forwarding.test.ts',
  'test/web/serve/*.test.ts',
  // Live captures are in a process of their own: once, one never ended in a shared one.
  'test/tools/!(collect)/**/*.test.ts',
  'test/tools/collect/!(trace).test.ts',
  'test/tools/*.test.ts',
  'test/{cli,examples,node/preload}/*.test.ts',
  'test/attacks/other-user.test.ts',
  'test/devices/middleware/wraps.test.ts',
  'test/devices/roce/{addresses,datagram-socket,host-sockets,loopback,pacing,reply,taken}.test.ts',
  'test/devices/shm/{multicast,waiting,wake-after}.test.ts',
]
/** All but those of `mocking` import the library as Node does; not where coverage is counted, or sources change between runs. */
const once = process.argv.includes('run') && !process.argv.some((option) => option.startsWith('--coverage'))
const quick = { extends: true as const, plugins: once ? asNode.plugins : [] }
/** `npm run test:slow` has them, and what needs more than Node.js. */
const slower = [
  // The clients of others have tests of their own.
  '**/node_modules/**',
  'test/**/*.slow.test.ts',
  'test/**/*allocation.test.ts',
  ...['browser', 'interop', 'slow'].map((folder) => `test/${folder}/**`),
]

/** `npm run test:looks`: only the tests of what waits for events, which none of `unit` does. */
const withoutLooks = process.env.VERBENA_LOOKS === '0'
if (withoutLooks)
  slower.push(...unit, 'test/*.test.ts', 'test/!(cm|collectives|compliance|devices|node|rsocket|verbs)/**')

// What `npm test` runs: everything that needs nothing but Node.js and is quick. Five workers also on two cores, because half
// of the time is waiting: for processes to start, for timers, for peers that answer nothing.
export default defineConfig({
  test: {
    onStackTrace: (_, frame) => toSource(frame),
    globalSetup: ['./test/entries.ts'],
    maxWorkers: 5,
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
    reporters: [
      'default',
      ...(withoutLooks ? ['./test/looks-reporter.ts'] : []),
      './test/stuck-reporter.ts',
      './test/tally-reporter.ts',
    ],
    coverage: { provider: 'v8', include: ['src/**'], exclude: ['src/**/*.mjs'] },
    projects: [
      {
        ...quick,
        test: { ...asNode.test, name: 'unit', include: unit, exclude: [...slower, ...mocking], isolate: false },
      },
      {
        ...quick,
        test: {
          ...{ ...asNode.test, name: 'shared', isolate: false },
          ...{ include: shared, exclude: [...slower, ...mocking, ...unit] },
        },
      },
      {
        ...quick,
        test: {
          ...{ ...asNode.test, name: 'whole' },
          ...{ include: ['test/**/*.test.ts'], exclude: [...slower, ...mocking, ...unit, ...shared] },
        },
      },
      { extends: true, test: { name: 'mocking', include: [...mocking], pool: 'forks' } },
    ],
  },
})
