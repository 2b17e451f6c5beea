/**
 * `ucx_perftest` (Debian package ucx-utils) as the other program: a server and a client on this host, over shared
 * memory or over TCP.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { finished, freePort, isInstalled, startProgram } from './programs.ts'

export interface UcxRun {
  test: 'tag_lat' | 'tag_bw'
  /** What UCX_TLS asks for. */
  transport: 'posix' | 'tcp'
  sizeBytes: number
  iterations: number
  /** Cores of client and server; null leaves them to the scheduler. */
  cores: readonly [number, number] | null
}

export interface UcxResult {
  /** Latencies one way. */
  averageNs: number
  medianNs: number
  bytesPerSecond: number
}

const program = 'ucx_perftest'
const connectAttempts = 30

export function ucxInstalled(): boolean {
  return isInstalled(program)
}

export async function runUcx({ test, transport, sizeBytes, iterations, cores }: UcxRun): Promise<UcxResult> {
  const port = await freePort()
  const start = (args: string[]) =>
    startProgram(program, args, { UCX_TLS: `${transport},self`, UCX_WARN_UNUSED_ENV_VARS: 'n' })
  const server = start(['-p', String(port), ...pin(cores?.[1])])
  try {
    const test_ = ['-t', test, '-s', String(sizeBytes), '-n', String(iterations), '-f']
    // The server may not listen yet; it takes one client only, so that probing is not possible.
    for (let attempt = 1; ; attempt++) {
      const client = start(['127.0.0.1', '-p', String(port), ...test_, ...pin(cores?.[0])])
      const { code, output } = await finished(client)
      if (code === 0) return parseUcx(output)
      if (attempt === connectAttempts || server.exitCode !== null)
        throw new Error(
          `${program} -t ${test} -s ${sizeBytes} failed: ${output.trim().split('\n').at(-1) ?? `exit code ${code}`}`,
        )
      await delay(100)
    }
  } finally {
    server.kill('SIGKILL')
  }
}

function pin(core: number | undefined): string[] {
  return core === undefined ? [] : ['-c', String(core)]
}

/**
 * The last line of numbers: iterations, then for latency, bandwidth and message rate one or two columns of averages and
 * overall figures. Latencies are microseconds, half a round trip. Its "MB" has 2^20 bytes.
 */
export function parseUcx(output: string): UcxResult {
  const line = output.split('\n').findLast((text) => /^\s*\d+(\s+[\d.]+){7}\s*$/.test(text))
  if (line === undefined) throw new Error(`the output of ${program} was not understood: ${output.trim().slice(0, 200)}`)
  const [, median, , overall, , bandwidth] = line.trim().split(/\s+/).map(Number)
  return { averageNs: overall! * 1000, medianNs: median! * 1000, bytesPerSecond: bandwidth! * 2 ** 20 }
}
