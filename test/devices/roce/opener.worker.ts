/** Opens a device and never closes it: it says so and waits, or ends at once. */
import { parentPort } from 'node:worker_threads'
import { openDevice } from '../../../src/index.ts'
import { threadData } from '../../../src/memory/index.ts'

const { device, ends } = threadData<{ device: string; ends: boolean }>()
parentPort!.postMessage('opens')
openDevice(device)
parentPort!.postMessage('opened')
if (ends) process.exit()
setInterval(() => {}, 1000)
