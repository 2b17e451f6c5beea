/**
 * The thread that drives devices (service.ts), as the others of the process see it: starting and waking it, and what
 * becomes of it at the end. Each thread that opens a device starts one; of them, one works and the others stand by.
 */
import { basename } from 'node:path'
import { isMainThread, type Worker } from 'node:worker_threads'
import { atExit, entryModule, startThread, untilLook } from '../../memory/index.ts'
import { heard, type PassedNews, processHost, takeNews } from '../../verbs/index.ts'
import { EventType, type Host, layout } from '../../verbs/provider/index.ts'
import { RoceDev } from './layout.ts'
import { unpublish } from './published-counters.ts'

const { Ctx, Dev, Meta, maxDevices } = layout

/** Devices 0 and 1 of a segment are those of `shm`. */
export const firstIndex = 2
/** `Dev.state` of a device of this kind. */
export const roceKind = 0x726f6365

export interface ServiceData {
  /** The command line of the process. */
  command: string
  /** Of the thread that has started this one. */
  heard: Int32Array
}

/** Whether this is the thread that drives devices. */
export let serving = false
export function beginService(): void {
  serving = true
}

/**
 * Whether the process ends and this is another thread than the one that ends it: that one gives back what all of them have, so that
 * they must not begin to work on what processes share.
 */
export function mustNotDrive(): boolean {
  if (isMainThread) return false
  const { i32, at } = processHost()
  return Atomics.load(i32, at.meta + Meta.serviceStop) !== 0
}

/** Whether the process ends: then its sockets go by themselves. */
export let ending = false

/** A thread that ends by errors as often as this within that time is not started again. */
const mostFailures = 5
const failuresWithinMs = 10_000

let service: Worker | null = null
/** When one ended by an error. */
let failures: number[] = []

/** The records of devices that somebody uses. */
export function usedRecords(host: Host): number[] {
  const found: number[] = []
  for (let index = firstIndex; index < maxDevices; index++) {
    const dev = host.deviceWord(index)
    if (host.i32[dev + Dev.state] === roceKind && host.i32[dev + RoceDev.users]! > 0) found.push(index)
  }
  return found
}

/** A device that is open in this process. */
interface OpenDevice {
  readonly host: Host
  readonly index: number
}

let openDevices: () => readonly OpenDevice[] = () => []

/** None where they cannot be told now: this is called where nothing may be thrown, and a process that is out of descriptors lives. */
export function openOnes(): readonly OpenDevice[] {
  try {
    return openDevices()
  } catch {
    return []
  }
}

/** What is open, from the module that knows. */
export function tellOpenDevices(tell: () => readonly OpenDevice[]): void {
  openDevices = tell
}

/** Starts the thread that drives devices, unless this thread has one. Loading takes it as long as it took this one: see `awaitOwner`. */
export function startService(): void {
  if (service === null) start(processHost())
}

/** Until some thread drives the devices of this segment while programs do not, at most 2 s. */
export function awaitOwner({ segment, at }: Host): void {
  segment.waitUntil(at.meta + Meta.serviceOwner, (owner) => owner !== 0, untilLook(2000), 5)
}

function start(host: Host): void {
  const data: ServiceData = {
    command: [basename(process.argv[1] ?? ''), ...process.argv.slice(2)].join(' ').slice(0, 500),
    heard,
  }
  const worker = startThread(entryModule(import.meta.url, './service'), {
    workerData: data,
    name: 'verbena roce',
    // It makes few objects: V8 would give it as much room for new ones as a program has, 16 MB and more, and use that up.
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
  })
  service = worker
  worker.unref()
  worker.on('message', (passed: PassedNews) => takeNews(passed))
  worker.on('error', failed)
  worker.on('exit', () => {
    if (service === worker) service = null
    // Those that stand by follow at once.
    const owner = host.at.meta + Meta.serviceOwner
    host.segment.releaseDead(owner)
    host.segment.notify(owner)
    if (!ending && usedRecords(host).length > 0 && failures.length < mostFailures) start(host)
  })
}

/** It never ends silently: without it nobody answers peers while the program computes. */
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
 * Until the thread that drives devices has come back from the kernel: the kernel keeps a socket on which it waits, and
 * the port with it, although its descriptor is closed.
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
    // One that was ended in the kernel never says that it has come back.
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
  // What a tap has collected is written; and what processes share is left to others in order.
  const waits =
    begun && used.some((dev) => host.i32[dev + RoceDev.wrapsBytes]! > 0 || host.i32[dev + RoceDev.shared] === 1)
  if (waits) host.segment.waitUntil(stop, (state) => state !== 1, untilLook(500), 5)
  unpublish()
})
