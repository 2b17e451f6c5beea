/** The supervisor's thread of `verbena run`. */

import { threadData } from '../../memory/index.ts'
import { runSupervisor, type SupervisorData } from '../front/index.ts'
import { loadDrivers, openAdapters, type RunSettings } from './adapters.ts'

await loadDrivers(threadData<SupervisorData>().settings as RunSettings)
runSupervisor<RunSettings>(openAdapters)
