/** Runs commands below a front whose door echoes (echo-door.ts). */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect } from 'vitest'
import { nativeAvailable, thisProcessor } from '../../../src/memory/native/index.ts'
import { startable } from '../../entries.ts'

const actions = '/proc/sys/kernel/seccomp/actions_avail'
/** Where the kernel has no user notification, these tests are skipped. */
export const canRun =
  nativeAvailable &&
  thisProcessor !== undefined &&
  existsSync(actions) &&
  readFileSync(actions, 'latin1').includes('user_notif')

export const folder = mkdtempSync(join(tmpdir(), 'verbena-front-'))
afterAll(() => rmSync(folder, { recursive: true }))
const program = startable(new URL('program.process.ts', import.meta.url))
export const front = startable(new URL('echo-run.process.ts', import.meta.url))
export const supervisor = pathToFileURL(startable(new URL('echo-supervisor.worker.ts', import.meta.url)).file).href
let logs = 0

export interface Front {
  readonly child: ChildProcess
  readonly log: () => string[]
  readonly says: (what: RegExp) => Promise<RegExpExecArray>
  readonly ended: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>
}

/** Starts a command below a front, with `wrapper` before all of it. */
export function start(
  command: readonly string[],
  { wrapper = [] as string[], log = '', temporary = folder } = {},
): Front {
  const file = log || join(folder, `log${logs++}`)
  const [first, ...rest] = [...wrapper, process.execPath, ...front.execArgv, front.file, file, ...command]
  const env = { ...process.env, ECHO_SUPERVISOR: supervisor, TMPDIR: temporary }
  const child = spawn(first!, rest, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }))
  return {
    child,
    log: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
    says: async (what) => {
      await expect.poll(() => what.exec(stdout), { interval: 5 }).not.toBe(null)
      return what.exec(stdout)!
    },
    ended,
  }
}

export const ofProgram = (name: string): string[] => [process.execPath, ...program.execArgv, program.file, name]

/** Runs the program to its end: its results, and what the door has seen. */
export async function results(
  name: string,
  { wrapper = [] as string[], within = [] as string[] } = {},
): Promise<{ all: Record<string, unknown>; log: string[] }> {
  const { ended, log } = start([...within, ...ofProgram(name)], { wrapper })
  const { code, stdout, stderr } = await ended
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const lines = stdout.trim().split('\n')
  return { all: Object.assign({}, ...lines.map((line) => JSON.parse(line))), log: log() }
}
