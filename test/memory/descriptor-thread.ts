/** A thread of descriptors.test.ts: serves at a name until it is told, or terminated. */
import { parentPort, type Worker } from 'node:worker_threads'
import { DescriptorServer, startThread, threadData } from '../../src/memory/index.ts'

export const startDescriptorThread = (name: string): Worker =>
  startThread(new URL(import.meta.url), { workerData: name })

if (parentPort !== null) {
  const server = new DescriptorServer(threadData<string>(), () => [])
  parentPort.on('message', () => {
    server.close()
    // Nothing else keeps it alive.
    parentPort!.close()
  })
  parentPort.postMessage('serves')
}
