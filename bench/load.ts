/**
 * Other work on the cores of a measurement: processes that do nothing but compute. They look at their parent a hundred times a
 * second, and end when it is gone, however it ended: Ctrl-C, a crash, SIGKILL.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Run with `node -e`: it needs no file, so that programs in bundles and in TypeScript start it alike. The argument is its parent. */
const compute = `
  const parent = Number(process.argv[1])
  process.stdout.write('computing')
  for (let n = 1; process.ppid === parent; ) for (let i = 0; i < 2_000_000; i++) n = (Math.imul(n, 1_103_515_245) + 12_345) | 0
`

export class Load {
  readonly #processes: ChildProcess[]

  private constructor(processes: ChildProcess[]) {
    this.#processes = processes
  }

  /** Starts so many processes, on these cores or on whatever this process may use; resolves when all compute. */
  static async start(count: number, cores: readonly number[] | null = null): Promise<Load> {
    const processes = Array.from({ length: count }, () => {
      const [program, ...args] = onCores(cores, [process.execPath, '-e', compute, String(process.pid)])
      return spawn(program!, args, { stdio: ['ignore', 'pipe', 'inherit'], env: withoutOptions() })
    })
    const load = new Load(processes)
    try {
      await Promise.all(processes.map(computing))
    } catch (error) {
      await load.end()
      throw error
    }
    return load
  }

  get pids(): number[] {
    return this.#processes.map(({ pid }) => pid!)
  }

  async end(): Promise<void> {
    await Promise.all(
      this.#processes.map(async (child) => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
        child.kill('SIGKILL')
        await once(child, 'exit')
      }),
    )
  }
}

/** The command, bound to these cores by taskset (util-linux). */
export function onCores(cores: readonly number[] | null, command: readonly string[]): string[] {
  return cores === null ? [...command] : ['taskset', '-c', cores.join(','), ...command]
}

async function computing(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`a process that computes ended with ${signal ?? `code ${code}`}`)
  })
  await Promise.race([
    once(child.stdout!, 'data'),
    ended,
    once(child, 'error').then(([error]) => Promise.reject(error)),
  ])
  // What is not waited for any more.
  ended.catch(() => {})
}

/** Nothing of what this process loads is loaded there. */
function withoutOptions(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...environment } = process.env
  return environment
}
