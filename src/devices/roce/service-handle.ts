/**
 * The thread that drives devices (service.ts), as the other threads of the process see it: starting and waking it, and its end. Each
 * thread that opens a device starts one; one of these threads works and the other ones stand by.
 */
import { basename } from 'node:path'
import { isMainThread, type Worker } from 'node:worker_threads'
import { atExit, entryModule, startThread, untilLook } from '../../memory/index.ts'
import { type PassedNews, processHost, subscriptions, takeNews } from '../../verbs/index.ts'
import { EventType, type Host, layout } from '../../verbs/provider/index.ts'
import { RoceDev } from './layout.ts'
import { unpublish } from './published-counters.ts'

const { Ctx, Dev, Meta, maxDevices } = layout

/** Index of the first device of this kind: devices 0 and 1 of a segment are those of `shm`. */
export const firstIndex = 2
/** Value of `Dev.state` of a device of this kind. */
export const roceKind = 0x726f6365

export interface ServiceData {
  /** Command line of the process. */
  command: string
  /** Words `subscriptions` of the thread that has started this one: its subscribed channels, and the messages in flight to it. */
  subscriptions: Int32Array
}

/** True if this is the thread that drives devices. */
export let serving = false
export function beginService(): void {
  serving = true
}

/**
 * True if the process ends and this thread is not the one that ends it: that one releases the resources of all threads, so other threads
 * must not begin to work on what processes share.
 */
export function mustNotDrive(): boolean {
  if (isMainThread) return false
  const { i32, at } = processHost()
  return Atomics.load(i32, at.meta + Meta.serviceStop) !== 0
}

/** True if the process ends: then its sockets go by themselves. */
export let ending = false

/** Maximum number of failures within `failuresWithinMs`: a thread that ends by errors as often is not started again. */
const mostFailures = 5
const failuresWithinMs = 10_000

let service: Worker | null = null
/** Times at which a service thread ended by an error. */
let failures: number[] = []

/** Returns the records of devices that have users. */
export function usedRecords(host: Host): number[] {
  const found: number[] = []
  for (let index = firstIndex; index < maxDevices; index++) {
    const dev = host.deviceWord(index)
    if (host.i32[dev + Dev.state] === roceKind && host.i32[dev + RoceDev.users]! > 0) found.push(index)
  }
  return found
}

/** Device that is open in this process. */
interface OpenDevice {
  readonly host: Host
  readonly index: number
}

let openDevices: () => readonly OpenDevice[] = () => []

/**
 * Returns the open devices; none if they cannot be determined now: the caller must not throw, and a process that is out of descriptors
 * lives on.
 */
export function openOnes(): readonly OpenDevice[] {
  try {
    return openDevices()
  } catch {
    return []
  }
}

/** Sets the function that returns the open devices, from the module that has them. */
export function tellOpenDevices(tell: () => readonly OpenDevice[]): void {
  openDevices = tell
}

/** Starts the thread that drives devices, unless this thread has one. Loading takes it as long as it took this one: see `awaitOwner`. */
export function startService(): void {
  if (service === null) start(processHost())
}

/** Waits until some thread drives the devices of this segment while programs do not, at most 2 s. */
export function awaitOwner({ segment, at }: Host): void {
  segment.waitUntil(at.meta + Meta.serviceOwner, (owner) => owner !== 0, untilLook(2000), 5)
}

function start(host: Host): void {
  const data: ServiceData = {
    command: [basename(process.argv[1] ?? ''), ...process.argv.slice(2)].join(' ').slice(0, 500),
    subscriptions,
  }
  const worker = startThread(entryModule(import.meta.url, './service'), {
    workerData: data,
    name: 'verbena roce',
    // It makes few objects: V8 would give it as much room for new objects as a program has, 16 MB and more, and fill that.
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
  })
  service = worker
  worker.on('message', (passed: PassedNews) => takeNews(passed))
  // After the listener, which would keep the process alive.
  worker.unref()
  worker.on('error', failed)
  worker.on('exit', () => {
    if (service === worker) service = null
    // The threads that stand by take its place at once.
    const owner = host.at.meta + Meta.serviceOwner
    host.segment.releaseDead(owner)
    host.segment.notify(owner)
    if (!ending && usedRecords(host).length > 0 && failures.length < mostFailures) start(host)
  })
}

/** Handles an error of the service thread, which never ends silently: without it no thread answers peers while the program computes. */
function failed(error: Error): void {
  const now = performance.now()
  failures = [...failures.filter((then) => now - then < failuresWithinMs), now]
  const last = failures.length >= mostFailures
  for (const { host, index } of openOnes()) {
    host.count(index, 'service_failures')
    if (last) tellFatal(host, index)
  }
  const then = last
    ? `This was the ${mostFailures}th time: from now on peers are answered only while the program polls or waits.`
    : 'Another one takes over.'
  process.emitWarning(`the thread that drives roce devices has ended: ${error.stack ?? error}\n${then}`, {
    code: 'VERBENA_ROCE_SERVICE',
  })
}

function tellFatal(host: Host, index: number): void {
  const { i32, at } = host
  for (let context = 0; context < i32[at.meta + Meta.contextsUsed]!; context++) {
    const c = host.ctxWord(context)
    if (i32[c + Ctx.uses] === 1 && i32[c + Ctx.device] === index && host.segment.isOwn(i32[c + Ctx.owner]!))
      host.deviceEvent(context, EventType.DeviceFatal)
  }
}

/** Wakes the thread that drives devices of this segment; false if there is none now. */
export function wakeService({ i32, segment, at }: Host): boolean {
  const owner = at.meta + Meta.serviceOwner
  Atomics.add(i32, at.meta + Meta.serviceWake, 1)
  segment.wakeOwner(owner)
  return Atomics.load(i32, owner) !== 0
}

/**
 * Waits until the thread that drives devices has come back from the kernel: the kernel keeps a socket on which it waits, and the port
 * with it, although its descriptor is closed.
 */
export function awaitService(): void {
  const host = processHost()
  const { i32, segment, at } = host
  const owner = at.meta + Meta.serviceOwner
  const word = at.meta + Meta.serviceTurns
  const turns = Atomics.load(i32, word)
  wakeService(host)
  if ((turns & 1) === 0) return
  const isBack = (now: number): boolean => {
    if (now !== turns) return true
    // A thread that was terminated in the kernel never reports that it has come back.
    segment.releaseDead(owner)
    return Atomics.load(i32, owner) === 0
  }
  segment.waitUntil(word, isBack, untilLook(1000), 3)
}

if (isMainThread)
  process.prependListener('exit', () => {
    ending = true
  })

atExit(() => {
  if (service === null || !isMainThread) return
  const host = processHost()
  const stop = host.at.meta + Meta.serviceStop
  Atomics.store(host.i32, stop, 1)
  const begun = wakeService(host)
  const used = usedRecords(host).map((index) => host.deviceWord(index))
  // The packets that a tap has collected are written; and shared devices are left to other processes in a consistent state.
  const waits =
    begun && used.some((dev) => host.i32[dev + RoceDev.wrapsBytes]! > 0 || host.i32[dev + RoceDev.shared] === 1)
  if (waits) host.segment.waitUntil(stop, (state) => state !== 1, untilLook(500), 5)
  unpublish()
})
