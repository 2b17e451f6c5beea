/** What the threads of this device are started with, and how they are started. */
import type { Worker } from 'node:worker_threads'
import { entryModule, startThread } from '../../memory/index.ts'

export interface JanitorData {
  name: string
  /** Of the segment that it is for: the name may stand for another one by now. */
  inode: number
}

export interface EngineData {
  /** Name of the segment, null for that of the process. */
  segment: string | null
  /** Of the thread that has started this one. */
  heard: Int32Array
}

/** What an engine thread is told when it gets a context to serve. */
export interface EngineOrder {
  context: number
  cores: number[]
}

const threads = {
  'janitor-thread': { entry: entryModule(import.meta.url, './janitor-thread'), name: 'verbena janitor' },
  'engine-thread': { entry: entryModule(import.meta.url, './engine-thread'), name: 'verbena engine' },
}

/** Starts `./janitor-thread.ts` or `./engine-thread.ts`, which does not keep the process alive. They make few objects. */
export function startDeviceThread(module: 'janitor-thread', data: JanitorData): Worker
export function startDeviceThread(module: 'engine-thread', data: EngineData): Worker
export function startDeviceThread(module: keyof typeof threads, data: JanitorData | EngineData): Worker {
  const { entry, name } = threads[module]
  const worker = startThread(entry, { workerData: data, name, resourceLimits: { maxYoungGenerationSizeMb: 2 } })
  worker.unref()
  return worker
}
