/**
 * First module of a worker whose entry is TypeScript, in development on a Node that cannot strip types: registers tsx,
 * puts the user's data where the entry expects it, and loads the entry. See `startThread` in threads.ts.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { register } from 'tsx/esm/api'

const workerThreads = createRequire(import.meta.url)('node:worker_threads')
const { verbenaEntry, verbenaData } = workerThreads.workerData

workerThreads.workerData = verbenaData
syncBuiltinESMExports()

register()
await import(verbenaEntry)
