import { expect, it } from 'vitest'
import { bytesSource } from '../../../src/capture/index.ts'
import { watchCapture } from '../../../src/monitor/host/index.ts'
import { monitorConfig, Observer } from '../../../src/monitor/index.ts'
import { sparseCapture } from './sparse.ts'

it('makes no more windows of a capture than are taken, and all of them in the end', async () => {
  let [made, most, waiting] = [0, 0, 0]
  const config = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
  const onWindow = (): void => {
    made++
    most = Math.max(most, ++waiting)
  }
  const observer = new Observer({ config, agent: 'a', run: 'r', onWindow })
  await watchCapture(bytesSource(sparseCapture(50)), () => observer, {
    ...{ signal: new AbortController().signal, trace: {} },
    isFull: () => waiting > 2,
    room: async () => {
      waiting = 0
    },
  })
  expect([made, most]).toEqual([50, 3])
})

it('stops reading when it is told to, though packets wait', async () => {
  let made = 0
  const stop = new AbortController()
  const config = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
  const observer = new Observer({ config, agent: 'a', run: 'r', onWindow: () => made++ })
  await watchCapture(bytesSource(sparseCapture(50)), () => observer, {
    ...{ signal: stop.signal, trace: {} },
    isFull: () => made > 2,
    room: async () => stop.abort(),
  })
  // The one that was begun ends with the reading.
  expect(made).toBe(4)
})
