/** Data with which the threads of this device are started, and the function that starts them. */
import type { Worker } from 'node:worker_threads'
import { entryModule, startThread } from '../../memory/index.ts'

export interface JanitorData {
  name: string
  /** Inode of the segment to watch: the name may stand for another segment by now. */
  inode: number
}

export interface EngineData {
  /** Name of the segment, null for that of the process. */
  segment: string | null
  /** Words `subscriptions` of the thread that has started this one. */
  subscriptions: Int32Array
}

/** Order to an engine thread to serve a context. */
export interface EngineOrder {
  context: number
  cores: number[]
}

const threads = {
  'janitor-thread': { entry: entryModule(import.meta.url, './janitor-thread'), name: 'verbena janitor' },
  'engine-thread': { entry: entryModule(import.meta.url, './engine-thread'), name: 'verbena engine' },
}

/** Starts `./janitor-thread.ts` or `./engine-thread.ts`, which does not keep the process alive. They allocate few objects. */
export function startDeviceThread(module: 'janitor-thread', data: JanitorData): Worker
export function startDeviceThread(module: 'engine-thread', data: EngineData): Worker
export function startDeviceThread(module: keyof typeof threads, data: JanitorData | EngineData): Worker {
  const { entry, name } = threads[module]
  const worker = startThread(entry, { workerData: data, name, resourceLimits: { maxYoungGenerationSizeMb: 2 } })
  worker.unref()
  return worker
}
