/**
 * `node --import verbena/preload app.js`, or `--require`: the program's connections go over RDMA where the rules say so.
 * See docs/guide/preload.md.
 */
import { createRequire } from 'node:module'
import { settingsOfProcess } from './node/preload/index.ts'

const settings = settingsOfProcess()
if (settings) {
  // Loaded only if a rule calls for it, and at once: `--require` takes no module that waits for another.
  const load = createRequire(import.meta.url)
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  load(`./index.${extension}`)
  const { install } = load(`./node/preload/install.${extension}`) as typeof import('./node/preload/install.ts')
  install(settings)
}
