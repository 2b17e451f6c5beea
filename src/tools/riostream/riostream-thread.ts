import { serveTool } from '../rs-kit/index.ts'
import { runRiostream } from './run.ts'

serveTool(runRiostream)
