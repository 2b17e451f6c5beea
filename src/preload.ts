/**
 * `node --import verbena/preload app.js`: the program's connections go over RDMA where the rules say so.
 * See docs/preload.md.
 */
import { settingsOfProcess } from './rsocket/preload/index.ts'

const settings = settingsOfProcess()
if (settings) {
  await import('./index.ts')
  const { install } = await import('./rsocket/preload/install.ts')
  install(settings)
}
