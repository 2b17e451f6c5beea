/**
 * `node --import verbena/preload app.js`, or `--require`: the program's connections use RDMA if the rules select it.
 * See docs/guide/preload.md.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { entryModule } from './memory/entry-module.ts'
import { begin, settingsOfProcess } from './node/preload/index.ts'

const settings = settingsOfProcess()
if (settings) {
  // Loaded only when a socket requires it, and synchronously: a program's call of `connect` or `listen` cannot wait, and `--require` does
  // not accept a module with top-level await.
  const load = createRequire(import.meta.url)
  const late =
    <T>(module: URL): (() => T) =>
    () =>
      load(fileURLToPath(module)) as T
  type Preparing = typeof import('./verbs/api/prepare-process.ts')
  const preparing = late<Preparing>(entryModule(import.meta.url, './verbs/api/prepare-process'))
  begin(settings, {
    installer: late(entryModule(import.meta.url, './node/preload/install')),
    library: late(entryModule(import.meta.url, './index')),
    prepareProcess: () => preparing().prepareProcess(),
  })
}
