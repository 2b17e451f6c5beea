/** Binds itself to one core, and says how many its process may use. */
import { parentPort } from 'node:worker_threads'
import { allowedCores, currentCores, pinThread, processCores } from '../../src/memory/native/host.ts'

const inherited = currentCores()
pinThread(inherited.slice(0, 1))
parentPort!.postMessage({ inherited, allowed: allowedCores(), ofProcess: processCores })
