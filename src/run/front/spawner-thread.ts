/**
 * The thread that starts the program. The filter is installed on this thread alone, and what it starts inherits it: Node.js forks on
 * the thread that calls `spawn`. It does nothing else, since each of its own calls that the filter knows waits for the supervisor.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { parentPort } from 'node:worker_threads'
import { type BpfInstruction, installFilter, setOpenFileLimit, threadData, withMark } from '../../memory/index.ts'
import type { FileLimits } from './host.ts'
import { advance, awaitStart, awaitState, fail, State, Word } from './shared-state.ts'

export interface SpawnerData {
  readonly words: Int32Array
  readonly filter: readonly BpfInstruction[]
  readonly program: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Limits of open files: the program's, and this process's. */
  readonly limits: FileLimits
  readonly ownSoftLimit: number
  /** Mark by which a guardian recognizes the program; null without a guardian. */
  readonly mark: number | null
}

export type SpawnerMessage =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly syscall: string }

const say = (message: SpawnerMessage): void => parentPort!.postMessage(message)

function failed(error: unknown): void {
  const { code = '', message, syscall = '' } = error as NodeJS.ErrnoException
  say({ kind: 'failed', code, message, syscall })
}

const { words, filter, program, args, env, limits, ownSoftLimit, mark } = threadData<SpawnerData>()
awaitStart(words)
let state = Atomics.load(words, Word.state)
while (state === State.opening) state = awaitState(words, state)
if (state === State.ready) {
  try {
    const { listener, killable } = installFilter(filter)
    Atomics.store(words, Word.listener, listener)
    Atomics.store(words, Word.killable, killable ? 1 : 0)
    if (advance(words, State.ready, State.filtered)) start()
  } catch (error) {
    fail(words)
    failed(error)
  }
}

function start(): void {
  const { soft, hard } = limits
  // The limit is the whole process's, and the other threads need no more for a moment.
  if (soft !== ownSoftLimit) setOpenFileLimit(soft, hard)
  const spawned = (): ChildProcess => spawn(program, args, { stdio: 'inherit', env })
  const child = mark === null ? spawned() : withMark(mark, spawned)
  if (soft !== ownSoftLimit) setOpenFileLimit(ownSoftLimit, hard)
  if (child.pid === undefined) {
    child.on('error', failed)
    return
  }
  say({ kind: 'started', pid: child.pid })
  // While this thread exists the listener has a filtered task; without one it reports a hang-up permanently. This thread must not reap the
  // program: for libuv, one that is stopped for a moment (`beginRestart`) has ended. The main thread reaps it. `launch` terminates this
  // thread.
  Atomics.wait(words, Word.ends, 0)
}
