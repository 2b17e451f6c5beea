/** The thread in which a program on rsockets runs: its calls may block, and Ctrl-C is the main thread's. */
import { notify, serve } from '../toolkit/index.ts'
import { type RcopySettings, runRcopy } from './rcopy.ts'
import { runRiostream } from './riostream.ts'
import { runRstream, type StreamSettings } from './rstream.ts'
import type { Run } from './settings.ts'
import { runUdpong, type UdpongSettings } from './udpong.ts'

interface Job {
  settings: unknown
  stop: Int32Array
}

/** The last messages of connection management are on their way for so long. */
const lingerMs = 300

async function ended<R>(result: Promise<R>): Promise<R> {
  const value = await result
  await new Promise((resolve) => setTimeout(resolve, lingerMs))
  return value
}

const run = ({ stop }: Job): Run => ({ stop, tell: notify })

serve({
  rcopy: (job: Job) => ended(runRcopy(job.settings as RcopySettings, run(job))),
  riostream: (job: Job) => ended(runRiostream(job.settings as StreamSettings, run(job))),
  udpong: (job: Job) => ended(runUdpong(job.settings as UdpongSettings, run(job))),
  rstream: (job: Job) => ended(runRstream(job.settings as StreamSettings, run(job))),
})
