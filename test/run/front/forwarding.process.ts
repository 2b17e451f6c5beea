/** Sends itself SIGTERM before its program is known, which may be there already if the argument says so: says how that ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { forwardSignals } from '../../../src/run/front/forwarding.ts'

// A handler keeps no process.
const alive = setInterval(() => {}, 100_000)
let came = (): void => {}
const asked = new Promise<void>((resolve) => {
  came = resolve
})
const forwarding = forwardSignals(() => {
  came()
  return process.argv[2] === 'spawns'
})
process.kill(process.pid, 'SIGTERM')
await asked
clearInterval(alive)
const program = spawn('sleep', ['60'])
forwarding.started(program.pid!)
const [, signal] = (await once(program, 'exit')) as [null, string]
process.stdout.write(`its program: ${signal}\n`)
forwarding.stop()
