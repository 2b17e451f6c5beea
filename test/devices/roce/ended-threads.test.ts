/** Threads that have opened devices and end: the thread that drives devices, which ends with them, leaves no descriptors open. */
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import { Attachment, attachmentWord, ownerMask } from '../../../src/memory/segment-layout.ts'
import { processHost } from '../../../src/verbs/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { until } from '../shm/rig.ts'

const { i32, at } = processHost()

/** Open files of this process, as /proc shows them without their numbers, and how many there are of each. */
function openFiles(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const fd of readdirSync('/proc/self/fd')) {
    let kind: string
    try {
      kind = readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, '')
    } catch {
      // The folder itself.
      continue
    }
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

async function openAndEnd(): Promise<void> {
  const workerData = { device: loopbackDevice(1), ends: false }
  const worker = startThread(new URL('./opener.worker.ts', import.meta.url), { workerData })
  while ((await once(worker, 'message'))[0] !== 'opened');
  await until('a wait of the thread that drives it', () => {
    const owner = Atomics.load(i32, at.meta + layout.Meta.serviceOwner)
    return owner !== 0 && Atomics.load(i32, attachmentWord(owner & ownerMask) + Attachment.parked) !== 0
  })
  await worker.terminate()
}

it.skipIf(!nativeAvailable)(
  'a thread that opened a device and was terminated has left no descriptors, nor has the one that drove it',
  async () => {
    // What the process keeps once it has had a device.
    await openAndEnd()
    const before = openFiles()
    for (let turn = 0; turn < 3; turn++) await openAndEnd()
    expect(openFiles()).toEqual(before)
  },
)
