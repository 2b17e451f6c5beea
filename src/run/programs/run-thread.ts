/** The supervisor's thread of `verbena run`. */
import { runSupervisor } from '../front/index.ts'
import { loadDrivers, openAdapters, type RunSettings } from './adapters.ts'

await runSupervisor<RunSettings>(async (settings) => {
  await loadDrivers(settings)
  return openAdapters(settings)
})
