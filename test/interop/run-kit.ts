/** Debian's own programs of the verbs under `verbena run`: whether they are there, and two of them that meet. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Ended, start } from './launchers.ts'

export const verbena: string = new URL('../../dist/verbena.js', import.meta.url).pathname
export const has = (program: string): boolean => spawnSync('which', [program]).status === 0
export const lacking: string[] = ['ibv_rc_pingpong', 'ib_send_lat', 'ib_atomic_bw'].filter((program) => !has(program))
if (!existsSync('/etc/libibverbs.d/rxe.driver')) lacking.push("the rxe provider (Debian's ibverbs-providers)")
if (lacking.length > 0) console.warn(`skipped: programs under \`verbena run\` need ${lacking.join(', ')}`)

/** A test that needs these programs. */
export const there: (name: string, run: () => Promise<void>) => void = test.skipIf(lacking.length > 0)

/** Runs a command of the shell with these adapters. */
export const runOn = (devices: readonly string[], command: string): Promise<Ended> => {
  const options = devices.flatMap((device) => ['--device', device])
  return start(process.execPath, [verbena, 'run', ...options, '--', 'sh', '-c', command]).ended
}

/** For the shell: the server, and the client as soon as that listens; ends with the client's exit code, or the server's. */
export function serveAndAsk(server: string, client: string, port: number): string {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return `
    ${server} & server=$!
    until grep -qs ':${hex} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6; do kill -0 $server || exit 99; done
    ${client} || { echo "the client ended with $?" >&2; kill $server; exit 98; }
    wait $server`
}

let runs = 0
/** Runs a command of the shell with an adapter of its own in shared memory. */
export const run = (command: string): Promise<Ended> => runOn([`shm:run-programs-${process.pid}-${++runs}`], command)

/** The same for two that meet: see `serveAndAsk`. */
export const both = (server: string, client: string, port: number): Promise<Ended> =>
  run(serveAndAsk(server, client, port))

/** Of the line of a TCP socket that listens at this port. */
const listener = (port: number): RegExp => new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} 0+:0000 0A`)
const listens = (port: number): boolean =>
  ['/proc/net/tcp', '/proc/net/tcp6'].some((file) => listener(port).test(readFileSync(file, 'latin1')))

/** Two commands of Verbena, the client as soon as the server listens; what they printed. */
export async function meet(server: readonly string[], client: readonly string[], port: number): Promise<string[]> {
  const serving = start(process.execPath, [verbena, ...server]).ended
  await expect.poll(() => listens(port)).toBe(true)
  const asked = well(await start(process.execPath, [verbena, ...client]).ended)
  return [asked, well(await serving)]
}

export const well = ({ code, stdout, stderr }: Ended): string => {
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: expect.not.stringMatching(/fail|error|verbena/i) })
  return stdout
}

type Kind = 'rc' | 'uc' | 'ud' | 'srq'

/** Ping-pongs of two commands on these devices, each unmodified or ours. */
export function testMeetings(
  title: string,
  devicesOf: () => readonly [string, string],
  nextPort: () => number,
  kinds: readonly Kind[] = ['rc', 'uc', 'ud', 'srq'],
): void {
  for (const kind of kinds) {
    const options = (port: number): string[] => {
      return ['-n', '200', '-p', String(port), ...(kind === 'ud' ? ['-s', '1024'] : [])]
    }
    // The address of an adapter on a network is its GID.
    const gid = (device: string): string[] => (device.startsWith('roce') ? ['-g', '0'] : [])
    const unmodified = (device: string, port: number, ...host: string[]): string[] => {
      const program = [`ibv_${kind}_pingpong`, '-c', '-e', ...gid(device), ...options(port), ...host]
      return ['run', '--device', device, '--', ...program]
    }
    const ours = (device: string, port: number, ...host: string[]): string[] => {
      return [`${kind}_pingpong`, '--device', device, '-c', '-e', ...gid(device), ...options(port), ...host]
    }
    const pairs = {
      'another run': [unmodified, unmodified],
      'ours is the client': [unmodified, ours],
      'ours is the server': [ours, unmodified],
    } as const
    for (const [who, [server, client]] of Object.entries(pairs))
      there(`ibv_${kind}_pingpong ${title}: ${who}`, async () => {
        const [first, second] = devicesOf()
        const port = nextPort()
        await meet(server(first, port), client(second, port, 'localhost'), port)
      })
  }
}
