import { serveTool } from '../rs-kit/index.ts'
import { runUdpong } from './run.ts'

serveTool(runUdpong)
