import { serveTool } from '../rs-kit/index.ts'
import { runRstream } from './run.ts'

serveTool(runRstream)
