/** Runs the built command line, as a person would. `npm test` builds dist/ first. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { command } from '../built.ts'

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

export function start(args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): ChildProcess {
  return startScript(command, args, options)
}

export function startScript(
  script: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): ChildProcess {
  return spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
    timeout: 100_000,
    killSignal: 'SIGKILL',
  })
}

export async function outcome(child: ChildProcess): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

export async function verbena(...args: string[]): Promise<Outcome> {
  return await outcome(start(args))
}
