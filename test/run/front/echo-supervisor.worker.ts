/** The supervisor's thread of tests: with a door that echoes. */
import { appendFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { runSupervisor, sysfsOf } from '../../../src/run/front/index.ts'
import { echoAdapter, echoDoor, pollDoor } from './echo-door.ts'

await runSupervisor((log: string) => {
  if (process.env.ECHO_SIGNALS === '1') writeFileSync(`${log}.thread`, basename(readlinkSync('/proc/thread-self')))
  if (log === 'fails') throw new Error('this adapter does not open')
  if (log.endsWith('.hangs')) {
    appendFileSync(log, 'opening\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
  return {
    ...{ doors: [echoDoor(log), pollDoor(log)], sysfs: sysfsOf([echoAdapter]) },
    onRefused: (pid, reason) => appendFileSync(log, `refused ${pid > 0}: ${reason}\n`),
  }
})
