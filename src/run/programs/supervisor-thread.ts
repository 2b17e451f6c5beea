/**
 * The thread of the supervisor takes longest to start, so a command may start it before it reads its options: it loads its modules
 * meanwhile, and `launch` gives it the rest.
 */
import type { Worker } from 'node:worker_threads'
import { entryModule } from '../../memory/entry-module.ts'
import { startThread } from '../../memory/index.ts'

let waiting: Worker | null = null

const start = (): Worker => startThread(entryModule(import.meta.url, './run-thread'))

/** Starts the thread. It does not keep this process alive until it is taken. */
export function startSupervisorEarly(): void {
  if (waiting !== null) return
  const thread = start()
  waiting = thread
  thread.unref()
  // Another thread is started then; the command reports the failure of that one.
  thread.once('error', () => {
    if (waiting === thread) waiting = null
  })
}

/** Returns the waiting thread, or one that is started now. */
export function takeSupervisor(): Worker {
  const thread = waiting ?? start()
  waiting = null
  thread.ref()
  return thread
}
