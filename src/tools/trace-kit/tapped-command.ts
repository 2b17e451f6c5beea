/**
 * A command whose roce devices write their packets to files (VERBENA_TAP), one for each of its processes. The files are read while they
 * grow, so that a reader can end, and change files of its own, before the command does.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exitCodes, type Interruption } from '../../cli/terminal/index.ts'
import { growingSource } from '../../files/index.ts'
import type { CaptureSource } from '../../trace/index.ts'
import { UsageError } from '../kit/index.ts'

/** Milliseconds after SIGINT after which a command is killed. */
const patienceMs = 5000

export interface Tapped<T> {
  result: T
  /** Exit code of the command; null if a signal ended it. */
  code: number | null
  /** True if the reading was over first, and the command was ended. */
  wasEnded: boolean
}

/**
 * Runs a command and reads the packets of its devices; when `read` resolves, it ends the command if that has not ended by itself. Ctrl-C
 * goes to the command, and its remaining packets are read. Its standard output goes to standard error.
 */
export async function tapCommand<T>(
  [program, ...args]: readonly string[],
  stop: Interruption,
  read: (packets: CaptureSource) => Promise<T>,
): Promise<Tapped<T>> {
  const command = await TappedCommand.start(program!, args).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(program!, `cannot be started (${error.code})`)
  })
  const interrupt = (): void => command.signal(stop.exitCode() === exitCodes.terminated ? 'SIGTERM' : 'SIGINT')
  stop.signal.addEventListener('abort', interrupt)
  try {
    if (stop.signal.aborted) interrupt()
    const result = await read(command.packets)
    const wasEnded = !command.hasEnded
    if (wasEnded) await command.end()
    return { result, code: await command.ended, wasEnded }
  } finally {
    stop.signal.removeEventListener('abort', interrupt)
    if (!command.hasEnded) await command.end()
    command.dispose()
  }
}

class TappedCommand {
  /** Resolves with the command's exit code, or null if a signal ended it. */
  readonly ended: Promise<number | null>
  hasEnded = false
  readonly #child: ChildProcess
  readonly #folder: string

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child
    this.#folder = folder
    this.ended = once(child, 'exit').then(([code]) => {
      this.hasEnded = true
      return code as number | null
    })
  }

  /** Starts the command. Throws the system's error if it cannot be started. */
  static async start(program: string, args: readonly string[]): Promise<TappedCommand> {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-tap-'))
    try {
      const env = { ...process.env, VERBENA_TAP: join(folder, '%p.pcapng') }
      const child = spawn(program, args, { env, stdio: ['inherit', 2, 'inherit'] })
      const command = new TappedCommand(child, folder)
      command.ended.catch(() => {})
      await once(child, 'spawn')
      return command
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  /** Returns the packets of its devices, until it has ended. */
  get packets(): CaptureSource {
    return growingSource(this.#folder, () => this.hasEnded)
  }

  signal(name: 'SIGINT' | 'SIGTERM'): void {
    this.#child.kill(name)
  }

  /** Ends the command as Ctrl-C does, or by SIGKILL if that does not help. */
  async end(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs)
    this.#child.kill('SIGINT')
    await this.ended
    clearTimeout(timer)
  }

  /** Removes the files. */
  dispose(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
