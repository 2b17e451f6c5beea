/** The thread of elsewhere.slow.test.ts. */
import { parentPort } from 'node:worker_threads'
import { threadData } from '../../../src/memory/index.ts'
import { type Part, play } from './part.ts'

play(threadData<Part>(), (message) => parentPort!.postMessage(message))
