/** What `npm run test:arm64` runs: whatever depends on the processor. Each file has to be reached. */
export const files: readonly string[] = [
  ...['shm', 'roce'].map((device) => `test/compliance/${device}.test.ts`),
  ...['bells', 'copy', 'descriptors', 'native', 'pages', 'parking', 'segment', 'threads'].map(
    (name) => `test/memory/${name}.test.ts`,
  ),
  ...['api', 'close', 'socket', 'trunk'].map((name) => `test/rsocket/sockets/${name}.test.ts`),
  'test/rsocket/protocol/connection.test.ts',
  ...['on-top', 'streams'].map((name) => `test/node/net/${name}.test.ts`),
  'test/node/preload/preload.test.ts',
  'test/docs/readme.test.ts',
]
