/** Commands below `verbena run`, each with an adapter of its own. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect } from 'vitest'
import { type Ended, start } from './launchers.ts'

export const verbena: string = new URL('../../dist/verbena.js', import.meta.url).pathname

export const has = (program: string): boolean => spawnSync('which', [program]).status === 0

/** What is missing for Debian's programs of the verbs, empty if nothing is. */
export function programsLack(): string[] {
  const lacking = ['ibv_rc_pingpong', 'ib_send_lat', 'ib_atomic_bw'].filter((program) => !has(program))
  if (!existsSync('/etc/libibverbs.d/rxe.driver')) lacking.push("the rxe provider (Debian's ibverbs-providers)")
  return lacking
}

let runs = 0
/** Runs a command of the shell. */
export const run = (command: string): Promise<Ended> => {
  const device = `shm:run-programs-${process.pid}-${++runs}`
  return start(process.execPath, [verbena, 'run', '--device', device, '--', 'sh', '-c', command]).ended
}

/** The server, and the client as soon as that listens; ends with the client's exit code, or the server's. */
export function both(server: string, client: string, port: number): Promise<Ended> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return run(`
    ${server} & server=$!
    until grep -qs ':${hex} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; do kill -0 $server || exit 99; done
    ${client} || { echo "the client ended with $?" >&2; kill $server; exit 98; }
    wait $server`)
}

export const well = ({ code, stdout, stderr }: Ended): string => {
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: expect.not.stringMatching(/fail|error|verbena/i) })
  return stdout
}
