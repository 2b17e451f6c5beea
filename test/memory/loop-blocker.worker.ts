/** Blocks in the kernel until something waits for the event loop of this thread. */
import { parentPort } from 'node:worker_threads'
import { loopDescriptor, waitReadable } from '../../src/memory/index.ts'

const fd = await loopDescriptor()
parentPort!.postMessage(fd)
for (;;) waitReadable([], Int32Array.of(fd), 1, 3600e3)
