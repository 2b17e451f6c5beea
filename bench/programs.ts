/** Other programs that are measured: started with a time limit, and ended by their own process ids. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'

const timeLimitMs = 60_000

export function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const running = new Set<ChildProcess>()

/** For a comparison that is interrupted. */
export function endPrograms(): void {
  for (const child of running) child.kill('SIGKILL')
}

export function startProgram(
  program: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: [stdin, 'pipe', 'pipe'],
    timeout: timeLimitMs,
    killSignal: 'SIGKILL',
  })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

export async function finished(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}
