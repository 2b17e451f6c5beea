/** Kernel TCP as the other program: iperf3 for bandwidth, sockperf for latency (Debian packages of these names). */
import { setTimeout as delay } from 'node:timers/promises'
import { finished, freePort, startProgram } from './programs.ts'

const seconds = 1
const attempts = 30
/** A message of sockperf has at least 14 bytes. */
const sockperfBytes = 14

/** Bytes per second that iperf3 receives over one connection, `sizeBytes` at a time. The kernel chooses the cores. */
export async function runIperf(sizeBytes: number): Promise<number> {
  const client = ['-t', String(seconds), '-l', String(sizeBytes), '-J']
  return await pair('iperf3', ['-s', '-1', '-B'], '-p', ['-c'], client, parseIperf)
}

/** Nanoseconds of a message over TCP one way, half of the round trip: the mean and the median. */
export async function runSockperf(): Promise<{ averageNs: number; medianNs: number }> {
  const client = ['--tcp', '-m', String(sockperfBytes), '-t', String(seconds)]
  return await pair('sockperf', ['server', '--tcp', '-i'], '-p', ['ping-pong', '-i'], client, parseSockperf)
}

/** A server and a client on this host; the client is started again until the server listens. */
async function pair<T>(
  program: string,
  serverArgs: string[],
  portFlag: string,
  clientArgs: string[],
  clientOptions: string[],
  parse: (output: string) => T | undefined,
): Promise<T> {
  const port = String(await freePort())
  const server = startProgram(program, [...serverArgs, '127.0.0.1', portFlag, port])
  const ended = finished(server)
  try {
    for (let attempt = 1; ; attempt++) {
      const client = startProgram(program, [...clientArgs, '127.0.0.1', portFlag, port, ...clientOptions])
      const { code, output } = await finished(client)
      const result = code === 0 ? parse(output) : undefined
      if (result !== undefined) return result
      if (attempt === attempts || server.exitCode !== null)
        throw new Error(`${program} failed: ${output.trim().split('\n').slice(-3).join(' ')}`)
      await delay(100)
    }
  } finally {
    server.kill('SIGKILL')
    await ended
  }
}

/** Of the JSON of `iperf3 -c -J`: what arrived. */
export function parseIperf(output: string): number | undefined {
  const { end } = JSON.parse(output) as { end?: { sum_received?: { bits_per_second?: number } } }
  const bits = end?.sum_received?.bits_per_second
  return bits === undefined ? undefined : bits / 8
}

/** Of the report of `sockperf ping-pong`, in microseconds there. */
export function parseSockperf(output: string): { averageNs: number; medianNs: number } | undefined {
  const average = /Summary: Latency is ([\d.]+) usec/.exec(output)?.[1]
  const median = /percentile 50\.000 =\s*([\d.]+)/.exec(output)?.[1]
  if (average === undefined || median === undefined) return undefined
  return { averageNs: Number(average) * 1000, medianNs: Number(median) * 1000 }
}
