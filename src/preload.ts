/**
 * `node --import verbena/preload app.js`, or `--require`: the program's connections go over RDMA where the rules say so.
 * See docs/guide/preload.md.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { entryModule } from './memory/entry-module.ts'
import { settingsOfProcess } from './node/preload/index.ts'

const settings = settingsOfProcess()
if (settings) {
  // Loaded only if a rule calls for it, and at once: `--require` takes no module that waits for another.
  const load = createRequire(import.meta.url)
  const [index, installer] = [
    entryModule(import.meta.url, './index'),
    entryModule(import.meta.url, './node/preload/install'),
  ]
  load(fileURLToPath(index))
  const { install } = load(fileURLToPath(installer)) as typeof import('./node/preload/install.ts')
  install(settings)
}
