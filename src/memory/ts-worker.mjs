/**
 * First module of a worker whose entry is TypeScript, in development on a Node that cannot strip types: puts the user's data
 * where the entry expects it, and loads the entry: its bundle, if the tests have made one (test/entries.ts), or with tsx. See
 * `startThread` in threads.ts.
 */
import { readFileSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { pathToFileURL } from 'node:url'

const workerThreads = createRequire(import.meta.url)('node:worker_threads')
const { verbenaEntry, verbenaData } = workerThreads.workerData

workerThreads.workerData = verbenaData
syncBuiltinESMExports()

const { TEST_ENTRIES: list } = process.env
const bundle = list && JSON.parse(readFileSync(list, 'utf8'))[verbenaEntry]
if (!bundle) (await import('tsx/esm/api')).register()
await import(bundle ? pathToFileURL(bundle).href : verbenaEntry)
