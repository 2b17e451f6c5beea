/** Runs the built command line. `npm test` builds dist/ first. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { command } from '../built.ts'
import { programMs } from '../patience.ts'
import { type Program, startHosted } from './hosts.ts'

export type { Program }

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

interface Options {
  cwd?: string
  env?: NodeJS.ProcessEnv
}

/** In a process that may have run other commands before. */
export function start(args: string[]): Program {
  return startHosted(args)
}

/** In a new process, as a person would. */
export function startProcess(args: string[], options: Options = {}): Program {
  return startScript(command, args, options)
}

export function startScript(script: string, args: string[], options: Options = {}): Program {
  return spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: programMs,
    killSignal: 'SIGKILL',
    ...options,
  })
}

export async function outcome(program: Program): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  program.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  program.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const [code] = (await once(program, 'close')) as [number | null]
  return { code, stdout, stderr }
}

export async function verbena(...args: string[]): Promise<Outcome> {
  return await outcome(start(args))
}
