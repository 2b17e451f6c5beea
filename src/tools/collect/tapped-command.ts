/**
 * A command whose roce devices write what they pass to a file (VERBENA_TAP). The file is read while it grows, so that the trace can
 * end, and change its own files, before the command does.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { CaptureSource } from '../../capture/index.ts'
import { streamSource } from '../../files/index.ts'

const chunkBytes = 1 << 18
/** Between two looks at a file that has not grown. */
const pauseMs = 20
/** A command that has not ended so long after SIGINT is killed. */
const patienceMs = 5000
const nothing = new Uint8Array(0)

export class TappedCommand {
  /** Resolves with its exit code, or null if a signal ended it. */
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

  /** Throws the system's error if it cannot be started. Its standard output goes to standard error. */
  static async start(program: string, args: readonly string[]): Promise<TappedCommand> {
    const folder = mkdtempSync(join(tmpdir(), 'verbena-collect-'))
    try {
      const env = { ...process.env, VERBENA_TAP: tapOf(folder) }
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

  /** The packets of its devices, until it has ended. */
  get packets(): CaptureSource {
    return streamSource(new Growing(tapOf(this.#folder), () => this.hasEnded))
  }

  signal(name: 'SIGINT' | 'SIGTERM'): void {
    this.#child.kill(name)
  }

  /** Ends it as Ctrl-C does, or by SIGKILL if that does not help. */
  async end(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs)
    this.#child.kill('SIGINT')
    await this.ended
    clearTimeout(timer)
  }

  /** Removes the file. */
  dispose(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function tapOf(folder: string): string {
  return join(folder, 'tap.pcapng')
}

/**
 * What is in the file, or comes into it, until `hasEnded`. It may not be there yet; a process that opens devices while none of its
 * own has it begins it again.
 */
class Growing extends Readable {
  readonly #path: string
  readonly #hasEnded: () => boolean
  #descriptor = -1
  #at = 0
  #timer: NodeJS.Timeout | undefined

  constructor(path: string, hasEnded: () => boolean) {
    super()
    this.#path = path
    this.#hasEnded = hasEnded
  }

  override _read(): void {
    // Asked first: what is in the file at the end is read.
    const isLast = this.#hasEnded()
    try {
      const chunk = this.#next()
      if (chunk.length > 0) this.push(chunk)
      else if (isLast) this.push(null)
      else this.#timer = setTimeout(() => this._read(), pauseMs)
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
    if (this.#descriptor >= 0) closeSync(this.#descriptor)
    done(error)
  }

  #next(): Uint8Array {
    if (this.#descriptor < 0 && existsSync(this.#path)) this.#descriptor = openSync(this.#path, 'r')
    if (this.#descriptor < 0) return nothing
    const { size } = fstatSync(this.#descriptor)
    if (size < this.#at) this.#at = 0
    const chunk = new Uint8Array(Math.min(chunkBytes, size - this.#at))
    const count = chunk.length === 0 ? 0 : readSync(this.#descriptor, chunk, 0, chunk.length, this.#at)
    this.#at += count
    return chunk.subarray(0, count)
  }
}
