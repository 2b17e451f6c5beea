/** The thread that drives devices, ended while it waits in the kernel: whoever closes a socket still learns where the next one is. */
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { nativeAvailable, openDevice } from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import { Attachment, attachmentWord, ownerMask } from '../../../src/memory/segment-layout.ts'
import { processHost } from '../../../src/verbs/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { until } from '../shm/rig.ts'

const { Meta } = layout
const { i32, at } = processHost()
const owner = (): number => Atomics.load(i32, at.meta + Meta.serviceOwner)
const turns = (): number => Atomics.load(i32, at.meta + Meta.serviceTurns)

/** What the thread that drives devices counted last before it began to wait in the kernel. */
async function turnsOfWait(): Promise<number> {
  let counted = -1
  await until('a wait in the kernel', () => {
    const before = turns()
    if (owner() === 0 || i32[attachmentWord(owner() & ownerMask) + Attachment.parked] === 0) return false
    counted = before
    return turns() === before
  })
  return counted
}

it.skipIf(!nativeAvailable)(
  'the one that follows a thread that was ended in the kernel counts its own waits',
  async () => {
    // The first thread that opens a device has the one that drives it, which ends with it.
    const workerData = { device: loopbackDevice(1), ends: false }
    const worker = startThread(new URL('./opener.worker.ts', import.meta.url), { workerData })
    while (((await once(worker, 'message')) as [string])[0] !== 'opened');
    const first = owner()
    const context = openDevice(loopbackDevice(2))
    expect((await turnsOfWait()) & 1).toBe(1)
    await worker.terminate()
    await until('another owner', () => ![0, first].includes(owner()))
    expect((await turnsOfWait()) & 1).toBe(1)
    context.close()
  },
)
