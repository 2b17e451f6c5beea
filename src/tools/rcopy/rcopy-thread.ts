import { serveTool } from '../rs-kit/index.ts'
import { runRcopy } from './run.ts'

serveTool(runRcopy)
