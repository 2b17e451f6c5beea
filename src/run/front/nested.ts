/** A `run` below a `run`: its programs are served by the outer one, since a process can have one listener. */
import { spawn } from 'node:child_process'
import type { Ended } from '../../memory/index.ts'
import { forwardSignals } from './forwarding.ts'
import { RunError, startFailure } from './host.ts'

/** Starts a program of a process that is served already; resolves when it has ended. Throws `RunError`. */
export async function launchServed(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onStarted: (pid: number) => void = () => {},
): Promise<Ended> {
  const forwarding = forwardSignals(() => true)
  try {
    const child = spawn(program, args, { stdio: 'inherit', env })
    if (child.pid !== undefined) forwarding.started(child.pid)
    return await new Promise((resolve, reject) => {
      child.on('error', ({ code = '', message }: NodeJS.ErrnoException) =>
        reject(new RunError(code, `${program}: ${startFailure(code, message)}`)),
      )
      child.on('spawn', () => onStarted(child.pid!))
      child.on('exit', (code, signal) => resolve({ code, signal }))
    })
  } finally {
    forwarding.stop()
  }
}
