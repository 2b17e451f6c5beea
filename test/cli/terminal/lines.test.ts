/** What a slow reader leaves in memory. */
import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { Lines } from '../../../src/cli/terminal/lines.ts'
import { fileSource } from '../../../src/files/index.ts'
import { showCapture } from '../../../src/trace/index.ts'

const capture = fileSource(new URL('../../captures/rstream.pcap', import.meta.url).pathname)

it.each([
  ['with back-pressure', true],
  ['without it', false],
])('a reader that is slower than the capture: %s', async (_, awaits) => {
  let taken = 0
  let most = 0
  const reader = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      taken += chunk.length
      setImmediate(() => setImmediate(callback))
    },
  })
  const lines = new Lines(reader)
  const line = 'x'.repeat(4000)
  await showCapture(
    capture,
    () => {
      lines.add(line)
      most = Math.max(most, reader.writableLength)
    },
    {
      chunkSize: 4096,
      onProgress: () => {
        const taking = lines.flush()
        return awaits ? taking : undefined
      },
    },
  )
  await lines.flush()
  await new Promise<void>((resolve) => void reader.end(resolve))
  expect(taken).toBe(495 * 4001)
  // The control shows that the reader is slow enough for the limit to mean something.
  if (awaits) expect(most).toBeLessThan(400_000)
  else expect(most).toBeGreaterThan(800_000)
})

it('a closed stream holds nobody up', async () => {
  const closed = new Writable({ write: () => undefined })
  const lines = new Lines(closed)
  lines.add('x'.repeat(100_000))
  const waiting = lines.flush()
  expect(waiting).toBeInstanceOf(Promise)
  closed.destroy()
  await waiting
})
