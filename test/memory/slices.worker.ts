/** Says how long its time slices are: of a thread that another has started, with a segment, and in the end with a nice value. */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { pageBytes, Segment, startThread } from '../../src/memory/index.ts'
import { askForShortSlices, timeSliceNs } from '../../src/memory/native/index.ts'

if (process.env.VERBENA_TEST_SLICES === 'inner') parentPort!.postMessage(timeSliceNs())
else {
  const usual = timeSliceNs()
  Segment.ofProcess({ staticBytes: pageBytes, sizeBytes: 1 << 27 })
  const withSegment = timeSliceNs()
  const inner = startThread(new URL(import.meta.url), { env: { ...process.env, VERBENA_TEST_SLICES: 'inner' } })
  inner.once('message', (started) => {
    setPriority(5)
    askForShortSlices()
    parentPort!.postMessage({ usual, withSegment, started, nice: timeSliceNs() })
  })
}
