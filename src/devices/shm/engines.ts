/** Engine threads of this process: the context that each serves, and the threads that serve none at the moment. */
import type { Worker } from 'node:worker_threads'
import { untilLook } from '../../memory/index.ts'
import { type PassedNews, subscriptions, takeNews } from '../../verbs/index.ts'
import { type Host, layout, VerbsError } from '../../verbs/provider/index.ts'
import { type EngineOrder, startDeviceThread } from './thread-data.ts'

const { Ctx } = layout

/** Engine threads by segment and context. */
const engines = new Map<string, Worker>()
const idleEngines = new Map<string | null, Worker[]>()
const engineFailures = new WeakMap<Worker, unknown>()

function startEngine(host: Host): Worker {
  const worker = startDeviceThread('engine-thread', { segment: host.segment.name, subscriptions })
  worker.on('message', (passed: PassedNews) => takeNews(passed, host))
  // Again: the listener keeps the process alive.
  worker.unref()
  worker.on('error', (error) => engineFailures.set(worker, error))
  return worker
}

/** Gives a context an engine thread, pinned to `cores` if there are any, and waits until it serves. */
export function serveContext(host: Host, context: number, cores: number[]): void {
  const { segment } = host
  const c = host.ctxWord(context)
  const idle = idleEngines.get(segment.name) ?? []
  idleEngines.set(segment.name, idle)
  const worker = idle.pop() ?? startEngine(host)
  engines.set(`${segment.name}/${context}`, worker)
  worker.postMessage({ context, cores } satisfies EngineOrder)
  if (!segment.waitUntil(c + Ctx.doorbellReady, (ready) => ready !== 0, 10_000, 10))
    throw new VerbsError(
      'ETIMEDOUT',
      'openDevice',
      `the engine thread did not start within 10 s${engineFailures.has(worker) ? `: ${engineFailures.get(worker)}` : ''}`,
    )
}

/** Takes a context from its engine thread, which can then serve another one. */
export function releaseContext(host: Host, context: number): void {
  const { i32, segment } = host
  const key = `${segment.name}/${context}`
  const worker = engines.get(key)
  if (!engines.delete(key) || !worker) return
  const c = host.ctxWord(context)
  Atomics.store(i32, c + Ctx.doorbellStop, 1)
  Atomics.add(i32, c + Ctx.doorbellWake, 1)
  segment.notify(c + Ctx.doorbellWake)
  if (segment.waitUntil(c + Ctx.doorbellReady, (ready) => ready !== 1, untilLook(2000), 10))
    idleEngines.get(segment.name)?.push(worker)
  // It would take the next context with the same index for its own.
  else void worker.terminate()
}
