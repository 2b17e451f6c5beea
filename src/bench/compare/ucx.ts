/**
 * `ucx_perftest` (Debian package ucx-utils) as the other program: a server and a client on this host, over shared
 * memory. Every process has a time limit and is ended by its own process id.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface UcxRun {
  test: 'tag_lat' | 'tag_bw'
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
const environment = { ...process.env, UCX_TLS: 'posix,self', UCX_WARN_UNUSED_ENV_VARS: 'n' }
const timeLimitMs = 60_000
const connectAttempts = 30

export function ucxInstalled(): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

export async function runUcx({ test, sizeBytes, iterations, cores }: UcxRun): Promise<UcxResult> {
  const port = await freePort()
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

const running = new Set<ChildProcess>()

/** For a comparison that is interrupted. */
export function endUcx(): void {
  for (const child of running) child.kill('SIGKILL')
}

function start(args: string[]): ChildProcess {
  const child = spawn(program, args, {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeLimitMs,
    killSignal: 'SIGKILL',
  })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

async function finished(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
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
