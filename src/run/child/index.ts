/**
 * `verbena/run`: RDMA programs of other languages as child processes with adapters of ours, for tests in Node.js. Each is started by a
 * process of its own, since serving programs means to wait for all children. See docs/guide/run.md.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { entryModule } from '../../memory/entry-module.ts'
import type { CountersRecord, TraceRecord } from '../watch/records.ts'
import { type ChildMessage, type ChildSettings, endMessage, recordsDescriptor } from './messages.ts'
import { readRecords } from './records.ts'

export type * from '../watch/records.ts'

type Stdio = 'pipe' | 'inherit' | 'ignore'

export interface RunOptions {
  /** Adapters, by names that `openDevice` takes (default: `shm:run`). Programs of other runs with the same name meet there. */
  readonly devices?: readonly string[]
  /** Names of the adapters in the program (default: `rxe0`, `rxe1`, …); they begin with `rxe`. */
  readonly names?: readonly string[]
  /** Explains on the program's standard error why a verb, an event of the RDMA CM or a management datagram failed, each reason once. */
  readonly explain?: boolean
  /** Reports each command, work request, completion, event and management datagram: the event `record`. */
  readonly trace?: boolean
  /** Flag: counts events; the result is `counters`. */
  readonly counters?: boolean
  /** Flag: stops at doorbells, so that `ibv_post_send` has the kernel's errors. */
  readonly strict?: boolean
  /** Standard streams, as those of `child_process.spawn` (default: `pipe`). */
  readonly stdio?: Stdio | readonly [stdin: Stdio, stdout: Stdio, stderr: Stdio]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string | URL
  /** Signal that ends the program and all its descendants; `ended` then rejects with its reason. */
  readonly signal?: AbortSignal
}

/** End of a program: an exit code, or the signal that ended it. */
export interface RunEnded {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The program could not be started, or not be served. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure'
  /** `ENOENT`, `EBUSY`, … */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Events: `record` for each of the trace. */
export class RunChild extends EventEmitter<{ record: [TraceRecord] }> {
  /** Process id of the program. */
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /**
   * Resolves when the program and all its descendants have ended, and its streams and records are complete. Rejects only if the
   * `AbortSignal` of its options has ended it.
   */
  readonly ended: Promise<RunEnded>
  #counters: CountersRecord | null = null
  readonly #process: ChildProcess

  /** @internal */
  constructor(child: ChildProcess, pid: number, signal: AbortSignal | undefined) {
    super()
    this.#process = child
    this.pid = pid
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.stderr = child.stderr
    const read = (): Promise<void> =>
      readRecords(child.stdio[recordsDescriptor] as Readable, (record) => {
        if (record.type === 'counters') this.#counters = record
        else this.emit('record', record)
      })
    // The caller adds its listeners before the first record is read.
    const records = new Promise((resolve) => setImmediate(resolve)).then(read)
    const closed = new Promise<RunEnded>((resolve) => child.once('close', (code, by) => resolve({ code, signal: by })))
    const abort = (): void => this.end()
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) this.end()
    this.ended = Promise.all([closed, records]).then(([ended]) => {
      signal?.removeEventListener('abort', abort)
      signal?.throwIfAborted()
      return ended
    })
    // A caller that does not wait for it must not be ended by its rejection.
    this.ended.catch(() => {})
  }

  /** Exit code; null while the program runs, and if a signal has ended it. */
  get exitCode(): number | null {
    return this.#process.exitCode
  }

  get signalCode(): NodeJS.Signals | null {
    return this.#process.signalCode
  }

  /** Counters of the run: null before `ended`, and if they were not requested. */
  get counters(): CountersRecord | null {
    return this.#counters
  }

  /** Sends a signal to the program; false if it has ended. */
  kill(signal: NodeJS.Signals = 'SIGTERM'): boolean {
    if (signal !== 'SIGKILL' && signal !== 'SIGSTOP' && signal !== 'SIGCONT') return this.#process.kill(signal)
    try {
      return this.exitCode === null && this.signalCode === null && process.kill(this.pid, signal)
    } catch {
      return false
    }
  }

  /** Ends the program and all its descendants at once (SIGKILL). */
  end(): void {
    // If this process disconnects the channel itself, Node.js never emits `close` for the child.
    if (this.#process.connected) this.#process.send(endMessage, () => {})
  }
}

/** A `RunChild` whose streams are pipes. */
export interface PipedRunChild extends RunChild {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}

/**
 * Starts a program with adapters of ours; resolves when it runs. Throws `RunFailure` if it cannot be started or served. When this process
 * ends, the program and all its descendants are ended.
 */
export function run(
  program: string,
  args?: readonly string[],
  options?: RunOptions & { readonly stdio?: 'pipe' },
): Promise<PipedRunChild>
export function run(program: string, args?: readonly string[], options?: RunOptions): Promise<RunChild>
export async function run(program: string, args: readonly string[] = [], options: RunOptions = {}): Promise<RunChild> {
  const { stdio = 'pipe', env, cwd, signal } = options
  signal?.throwIfAborted()
  const settings: ChildSettings = {
    ...{ program, args, devices: options.devices ?? [], names: options.names ?? [] },
    ...{ explain: options.explain ?? false, trace: options.trace ?? false },
    ...{ counters: options.counters ?? false, strict: options.strict ?? false },
  }
  const streams = typeof stdio === 'string' ? [stdio, stdio, stdio] : stdio
  const entry = fileURLToPath(entryModule(import.meta.url, '../../tools/run/run-process'))
  const child = spawn(process.execPath, [entry, JSON.stringify(settings)], {
    stdio: [...streams, 'pipe', 'ipc'],
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  })
  return await new Promise((resolve, reject) => {
    child.once('error', ({ code = '', message }: NodeJS.ErrnoException) => {
      // For a missing folder Node.js reports the same error as for a missing program.
      const isFolder = cwd !== undefined && code === 'ENOENT'
      reject(new RunFailure(code, isFolder ? `cwd: there is no folder ${cwd}` : message))
    })
    child.on('message', (message: ChildMessage) => {
      if (message.kind === 'failed') reject(new RunFailure(message.code, message.message))
      else resolve(new RunChild(child, message.pid, signal))
    })
    // Messages that it has sent come before this, and may come after its exit.
    child.once('close', (code, by) =>
      reject(new RunFailure('EIO', `${program}: was not started: ${by ?? `code ${code}`}`)),
    )
  })
}
