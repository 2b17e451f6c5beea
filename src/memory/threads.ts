/**
 * Threads: starting one from a TypeScript or JavaScript file, and determining whether a thread of any process still lives.
 *
 * A thread is known by its process ID, its thread ID and its start time: the kernel gives IDs out again, but not in the same clock tick.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import workerThreads, { isMainThread, Worker, type WorkerOptions, workerData } from 'node:worker_threads'
import { behind, closeGate, closeUnusedGate, type Gate, hasLoadedBelow, makeGate } from './native/index.ts'

export { threadId } from 'node:worker_threads'

/** Data that ts-worker.mjs gets in place of the user's data. */
interface Wrapped {
  readonly verbenaEntry: string
  readonly verbenaData: unknown
}

/** Options of `Worker` except `eval`: `workerData`, `name`, `transferList`, `execArgv`, `env`, `resourceLimits`, … */
export type ThreadOptions = Omit<WorkerOptions, 'eval'>

/** `terminate` waits until neither the thread nor one below it loads native code: see native/loading.ts. */
class Thread extends Worker {
  readonly #gate: Gate

  constructor(entry: URL, options: ThreadOptions, gate: Gate) {
    super(entry, options)
    this.#gate = gate
  }

  override async terminate(): Promise<number> {
    await closeGate(this.#gate)
    return await super.terminate()
  }
}

const whenEnded: (() => void)[] = []
let followsWorkers = false

/** Calls back each time that a worker which this thread has started has ended, however it did, in the order in which this was called. */
export function whenWorkerEnds(callback: () => void): void {
  whenEnded.push(callback)
  followWorkers()
}

function followWorkers(): void {
  if (followsWorkers) return
  followsWorkers = true
  process.on('worker', (worker) => worker.once('exit', workerEnded))
}

function workerEnded(): void {
  // The library, which cleans up after the worker, is loaded now, if the worker may have loaded it and this thread has not done so itself.
  if (whenEnded.length === 0 && late !== undefined && hasLoadedBelow()) late.load()
  for (const callback of whenEnded) callback()
}

/** Functions of this library, of which a thread has loaded only the beginning. */
export interface LateLibrary {
  /** Makes what threads inherit of the one that starts them. */
  prepare(): void
  /** Loads the library. */
  load(): void
}

let gatesWorkers = false
let late: LateLibrary | undefined

/**
 * Makes `terminate` of every `Worker` that this thread starts from now on, not only by `startThread`, wait until that loads no native code.
 * For programs whose workers load this library indirectly, and that end them at any time; perhaps before this thread has loaded it
 * (`library`).
 */
export function gateWorkers(library?: LateLibrary): void {
  if (gatesWorkers) return
  gatesWorkers = true
  late = library
  if (library !== undefined) followWorkers()
  const gates = new WeakMap<Worker, Gate>()
  // Subclasses are made here, too. Names imported from node:worker_threads stand for it from now on.
  workerThreads.Worker = new Proxy(Worker, {
    construct(its, args, newTarget) {
      library?.prepare()
      const gate = makeGate()
      const worker = behind(gate, () => Reflect.construct(its, args, newTarget) as Worker)
      gates.set(worker, gate)
      return worker
    },
  })
  const methods = Worker.prototype
  const { terminate } = methods
  methods.terminate = function (this: Worker, ...args) {
    const gate = gates.get(this)
    if (gate === undefined || closeUnusedGate(gate)) return terminate.apply(this, args)
    return closeGate(gate).then(() => terminate.apply(this, args))
  }
  syncBuiltinESMExports()
}

/**
 * The environment of our threads is the program's without the modules that Node is set to load first, by its command line or by
 * NODE_OPTIONS: those are meant for threads of the program. Loading them would take time in each thread, and do once more what a program
 * does once.
 */
function ownEnvironment(): Pick<WorkerOptions, 'execArgv' | 'env'> {
  return { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } }
}

/**
 * Starts a thread that runs the module `entry` (a file URL). In development the entry is TypeScript, which a worker
 * of Node 20 cannot load by itself: ts-worker.mjs then loads it. The entry finds its data in `threadData()`, or in
 * `workerData` of node:worker_threads.
 */
export function startThread(entry: URL, given: ThreadOptions = {}): Worker {
  const options = { ...ownEnvironment(), ...given }
  const stripsTypes = Boolean((process.features as { typescript?: string | false }).typescript)
  const gate = makeGate()
  if (!/\.[mc]?ts$/.test(entry.pathname) || stripsTypes) return behind(gate, () => new Thread(entry, options, gate))
  const wrapped: Wrapped = { verbenaEntry: entry.href, verbenaData: options.workerData }
  const url = new URL('./ts-worker.mjs', import.meta.url)
  return behind(gate, () => new Thread(url, { ...options, workerData: wrapped }, gate))
}

/** The `workerData` that `startThread` was given; undefined in the main thread. */
export function threadData<T = unknown>(): T {
  if (isMainThread) return undefined as T
  const data = workerData as unknown
  if (typeof data === 'object' && data !== null && 'verbenaEntry' in data) return (data as Wrapped).verbenaData as T
  return data as T
}

let ownThreadId = -1

/** The kernel's id of this thread; 0 where there is no /proc. */
export function osThreadId(): number {
  if (ownThreadId >= 0) return ownThreadId
  try {
    // "<pid>/task/<tid>"
    const link = readlinkSync('/proc/thread-self')
    ownThreadId = Number(link.slice(link.lastIndexOf('/') + 1))
  } catch {
    ownThreadId = 0
  }
  return ownThreadId
}

let ownNamespace: number | null = null

/**
 * Returns the PID namespace in which this process's IDs are valid: the same ID in another container is another process. 0 where that cannot
 * be determined.
 */
export function pidNamespace(): number {
  if (ownNamespace !== null) return ownNamespace
  try {
    // "pid:[4026531836]"
    ownNamespace = Number(/\[(\d+)\]/.exec(readlinkSync('/proc/self/ns/pid'))?.[1] ?? 0) | 0
  } catch {
    ownNamespace = 0
  }
  return ownNamespace
}

interface ThreadStat {
  /** `R`, `S`, `Z`, …: field 3. */
  readonly state: string
  /** True if it is ending, and runs no instruction of its program any more: `PF_EXITING` in field 9. */
  readonly exiting: boolean
  /** Clock ticks from the start of the machine: field 22. */
  readonly startTime: number
}

const PF_EXITING = 4

/** Parses a file `stat` of /proc: proc_pid_stat(5). */
export function readStat(text: string): ThreadStat {
  // Field 2 is the name in parentheses, which may itself hold spaces and parentheses: fields count from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): string | undefined => fields[number - 3]
  return {
    state: field(3) ?? '',
    exiting: (Number(field(9) ?? 0) & PF_EXITING) !== 0,
    startTime: Number(field(22) ?? 0),
  }
}

/** Returns true for a process of another user, which /proc may not show (its option hidepid). */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Null if there is no such thread; undefined if that cannot be determined, for want of descriptors for example. */
function threadStat(pid: number, tid: number): ThreadStat | null | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/task/${tid}/stat`, 'latin1')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return (code === 'ENOENT' || code === 'ESRCH') && !isHidden(pid) ? null : undefined
  }
  return readStat(text)
}

/** Returns the start time of the thread, in clock ticks from the start of the machine; 0 if it does not exist or there is no /proc. */
export function threadStartTime(pid: number, tid: number): number {
  return threadStat(pid, tid)?.startTime ?? 0
}

/** Returns true if the process is stopped by a signal or a debugger; false also where /proc does not show it. */
export function processStopped(pid: number): boolean {
  const state = threadStat(pid, pid)?.state
  return state === 'T' || state === 't'
}

let ownStartTime: number | null = null

/** Returns the start time of this process, in the form of `threadStartTime`. */
export function processStartTime(): number {
  ownStartTime ??= threadStartTime(process.pid, process.pid)
  return ownStartTime
}

/** Returns true if a thread with this state still runs; `ours`: it belongs to this process. */
export function runs({ state, exiting }: ThreadStat, ours: boolean): boolean {
  // Node reports the end of a worker as soon as it has joined it; the kernel shows the thread for a moment after that, longer on a busy
  // machine. Of another process that is ending, descriptors may still be open.
  return state !== 'Z' && state !== 'X' && !(ours && exiting)
}

/**
 * True if the thread still runs. A `startTime` of 0 means unknown: then any thread with this id counts. One that has
 * ended but that its parent has not yet waited for (a zombie) is dead. Where there is no /proc, the process decides.
 */
export function threadAlive(pid: number, tid: number, startTime: number): boolean {
  if (!(pid > 0)) return false
  if (osThreadId() !== 0 && tid !== 0) {
    const stat = threadStat(pid, tid)
    if (stat === undefined) return true
    if (stat === null || !runs(stat, pid === process.pid)) return false
    return startTime === 0 || stat.startTime === startTime
  }
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
