/** What `npm run test:arm64` runs: what depends on the processor, in about ten minutes at most. Each file has to be reached. */
export const files: readonly string[] = [
  ...['shm', 'roce'].map((device) => `test/compliance/${device}.test.ts`),
  ...['loop-wakeups', 'pages', 'parking', 'threads'].map((name) => `test/memory/${name}.test.ts`),
  ...['api', 'close', 'socket'].map((name) => `test/rsocket/sockets/${name}.test.ts`),
  'test/node/net/on-top.test.ts',
  'test/docs/readme.test.ts',
]
