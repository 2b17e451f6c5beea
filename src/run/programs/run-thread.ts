/** The supervisor's thread of `verbena run`. */

import { runSupervisor } from '../front/index.ts'
import { openAdapters, type RunSettings } from './adapters.ts'

runSupervisor<RunSettings>(openAdapters)
