/** The thread in which a program on rsockets runs: its calls may block, and Ctrl-C is the main thread's. */
import { notify, serve } from '../toolkit/index.ts'
import { runRiostream } from './riostream.ts'
import { runRstream, type StreamSettings } from './rstream.ts'
import type { Run } from './settings.ts'

interface Job {
  settings: unknown
  stop: Int32Array
}

const run = ({ stop }: Job): Run => ({ stop, tell: notify })

serve({
  riostream: (job: Job) => runRiostream(job.settings as StreamSettings, run(job)),
  rstream: (job: Job) => runRstream(job.settings as StreamSettings, run(job)),
})
