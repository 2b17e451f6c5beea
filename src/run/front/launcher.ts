/**
 * Starts a program whose opens of RDMA devices a supervisor answers, and stays until the last of its descendants has ended: their filter is
 * for ever, and without a supervisor they could open no file any more. Three threads:
 *
 *     main        signals, and waiting for processes that have lost their parents
 *     spawner     is filtered, and starts the program
 *     supervisor  answers
 */
import { randomBytes, randomInt } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import {
  adoptDescendants,
  atExit,
  closeFd,
  type Ended,
  endedChild,
  endIsHidden,
  endsAtOnce,
  entryModule,
  makeEventFd,
  newMark,
  reapChild,
  signalEventFd,
  startThread,
} from '../../memory/index.ts'
import { filterProgram } from './filter.ts'
import { folderPath } from './folder.ts'
import { forwardSignals } from './forwarding.ts'
import { Guardian } from './guardian.ts'
import { checkHost, openFileLimits, RunError, seccompError, startFailure } from './host.ts'
import { numberRanges } from './numbers.ts'
import { fail, failUnlessFiltered, letStart, newState, State, Word } from './shared-state.ts'
import type { SpawnerData, SpawnerMessage } from './spawner-thread.ts'
import type { SupervisorData } from './supervisor-thread.ts'

/** Delay before the next attempt if it could not be determined which child has ended. */
const hiddenMs = 5

/** Environment variable that informs a nested `verbena run` that its program is served already. */
export const runVariable = 'VERBENA_RUN'

export interface LaunchOptions {
  readonly program: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** A thread whose module calls `runSupervisor`. */
  readonly supervisor: () => Worker
  /** Settings for the `open` of that module. */
  readonly settings: unknown
  readonly verbose: boolean
  /** Flag: doorbells of the provider stop, too. */
  readonly strict?: boolean
  /**
   * Flag: this process ends by `endAtOnce` as soon as all programs have. Threads are prepared for that then, and have not ended, unless
   * Node.js takes them down (`endsAtOnce`). The process could wait for ever for the spawner, whose calls are not answered any more.
   */
  readonly leavesThreads?: boolean
  /** Called when the program runs. */
  readonly onStarted?: (pid: number) => void
  /** Reports problems that do not end the run. */
  readonly onWarning: (text: string) => void
}

/**
 * Starts the program and resolves when it and all of its descendants have ended. Throws `RunError` if it cannot be started. This process
 * must have no other children: it waits for all of them.
 */
export async function launch(options: LaunchOptions): Promise<Ended> {
  const processor = checkHost()
  const { own: ownSoftLimit, ...limits } = openFileLimits()
  const ranges = numberRanges(limits.soft, limits.hard)
  const words = newState()
  const wake = makeEventFd()
  const end = (): void => {
    Atomics.store(words, Word.ends, 1)
    fail(words)
    signalEventFd(wake)
  }
  // A thread that sleeps in the kernel would keep this process from exiting.
  atExit(end)
  const { settings, verbose, program, args } = options
  const name = `${process.pid}x${randomBytes(6).toString('hex')}`
  const folder = folderPath(name)
  const supervisorData: SupervisorData = { words, wake, ranges, verbose, folder, settings }
  const supervisor = options.supervisor()
  supervisor.postMessage(supervisorData)
  const failure = new Promise<never>((_, reject) => supervisor.once('error', reject))
  failure.catch(() => {})
  // A guardian that is there before descendants are adopted is no child. What the first process of a container has started ends with it,
  // and all of it would be its child.
  const mark = process.pid === 1 ? null : newMark(randomInt)
  const guarding = mark === null ? null : Guardian.start(mark, folder)
  const env = { ...options.env, [runVariable]: name }
  const filter = filterProgram({ processor, ranges, strict: options.strict ?? false })
  const spawnerData: SpawnerData = { words, filter, program, args, env, limits, ownSoftLimit, mark }
  // All three start at the same time, since each takes 40 ms and more.
  const spawner = startThread(entryModule(import.meta.url, './spawner-thread'), { workerData: spawnerData })
  const guardian = await guarding
  adoptDescendants()
  // A signal before that ends this process as any other.
  const forwarding = forwardSignals(() => failUnlessFiltered(words))
  letStart(words)

  let hasEnded = false
  try {
    const how = await follow(options, words, failure, spawner, (started) => {
      if (started === undefined) {
        forwarding.ended()
        return
      }
      forwarding.started(started)
      options.onStarted?.(started)
    })
    hasEnded = true
    return how
  } finally {
    forwarding.stop()
    const leaves = hasEnded && options.leavesThreads === true && endsAtOnce()
    if (!leaves) {
      // The spawner's own calls are answered until it has ended.
      fail(words)
      await spawner.terminate()
    }
    const ended = new Promise<void>((resolve) => {
      supervisor.once('exit', () => resolve())
      if (leaves) supervisor.once('message', () => resolve())
    })
    end()
    if (supervisor.threadId !== -1) await ended
    if (Atomics.load(words, Word.broken) === 1) guardian?.release()
    else guardian?.dismiss()
  }
}

/** Resolves when there are no descendants any more. `failure`: that of the supervisor. */
function follow(
  { program, onWarning }: LaunchOptions,
  words: Int32Array,
  failure: Promise<never>,
  spawner: Worker,
  onStarted: (pid: number | undefined) => void,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let pid = 0
    let ended: Ended | undefined
    const look = (): void => {
      // Until the program is known, Node.js waits for one that could not be executed.
      if (pid === 0) return
      let child = endedChild()
      for (; child > 0; child = endedChild()) {
        const how = reapChild(child)
        if (child !== pid || ended !== undefined) continue
        ended = how
        onStarted(undefined)
      }
      if (child === endIsHidden) setTimeout(look, hiddenMs)
      else if (child < 0 && ended !== undefined) {
        process.off('SIGCHLD', look)
        resolve(ended)
      }
    }
    const stop = (error: Error): void => {
      process.off('SIGCHLD', look)
      fail(words)
      reject(error)
    }
    process.on('SIGCHLD', look)
    failure.catch((error: Error) => {
      // Calls that programs wait in are never answered; later calls fail once no listener is left.
      if (Atomics.load(words, Word.state) === State.filtered) {
        closeFd(Atomics.load(words, Word.listener))
        Atomics.store(words, Word.broken, 1)
        try {
          if (pid > 0 && ended === undefined) process.kill(pid, 'SIGKILL')
        } catch {
          // It has just ended.
        }
      }
      stop(error)
    })
    spawner.on('error', stop)
    spawner.on('message', (message: SpawnerMessage) => {
      switch (message.kind) {
        case 'started':
          pid = message.pid
          onStarted(pid)
          look()
          if (Atomics.load(words, Word.killable) === 0)
            onWarning('Linux before 5.19: a signal that a program catches may repeat a command of its adapter')
          return
        case 'failed':
          stop(
            message.syscall === 'seccomp'
              ? seccompError(message.code, message.message)
              : new RunError(message.code, `${program}: ${startFailure(message.code, message.message)}`),
          )
      }
    })
  })
}
