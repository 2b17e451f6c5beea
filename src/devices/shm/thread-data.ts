/** What the threads of this device are started with, and how they are started. */
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../memory/index.ts'

export interface JanitorData {
  name: string
}

export interface EngineData {
  /** Name of the segment, null for that of the process. */
  segment: string | null
}

/** What an engine thread is told when it gets a context to serve. */
export interface EngineOrder {
  context: number
  cores: number[]
}

/** Starts `./janitor.ts` or `./engine-thread.ts`, which does not keep the process alive. */
export function startDeviceThread(module: 'janitor', data: JanitorData): Worker
export function startDeviceThread(module: 'engine-thread', data: EngineData): Worker
export function startDeviceThread(module: 'janitor' | 'engine-thread', data: JanitorData | EngineData): Worker {
  // Beside this module, as source or as built.
  const url = new URL(`./${module}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  const name = module === 'janitor' ? 'verbena janitor' : 'verbena engine'
  const worker = startThread(url, { workerData: data, name })
  worker.unref()
  return worker
}
