/** Runs a program on rsockets in a thread of its own, from the main thread. */
import { Peer } from '../kit/index.ts'
import type { CommonResult, Notice, Show } from './settings.ts'

/** Milliseconds after which a thread that hangs in a call is ended. */
const graceMs = 2000
/** Timeout of the call that runs a program, in effect unlimited. */
const longestMs = 24 * 86_400_000

/** Program on rsockets, and the module of its thread, which calls `serveTool`. */
export interface Tool {
  name: string
  thread: URL
}

/** Returns the result, also when it was interrupted. Throws PeerError with the name and code of the error in the thread. */
export async function runTool<R extends CommonResult>(
  { name, thread }: Tool,
  settings: object,
  role: CommonResult['role'],
  options: { show: Show; signal?: AbortSignal | undefined },
): Promise<R> {
  const { show, signal } = options
  const stop = new Int32Array(new SharedArrayBuffer(4))
  const peer = new Peer(name, thread)
  peer.onNotice = (notice) => show(notice as Notice)
  let grace: NodeJS.Timeout | undefined
  let killed = false
  const halt = (): void => {
    Atomics.store(stop, 0, 1)
    Atomics.notify(stop, 0)
    grace = setTimeout(() => {
      killed = true
      void peer.terminate()
    }, graceMs)
  }
  if (signal?.aborted) halt()
  signal?.addEventListener('abort', halt)
  try {
    return await peer.call<R>('run', { settings, stop }, longestMs)
  } catch (error) {
    if (!killed) throw error
    return { tool: name, role, failure: { code: 'INTERRUPTED', message: 'interrupted' } } as R
  } finally {
    signal?.removeEventListener('abort', halt)
    clearTimeout(grace)
    await peer.terminate()
  }
}
