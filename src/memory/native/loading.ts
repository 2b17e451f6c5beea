/**
 * A thread that is ended while it loads native code can take the process with it: the addon throws into an environment
 * that takes no exception any more, which is fatal (`ThrowAsJavaScriptException napi_throw`). So threads load under a
 * lock that those of a process share, and who ends a thread of Verbena, or the process, waits until nobody loads.
 *
 * Threads that others end with `Worker.terminate` while they load are beyond this.
 */

import { setTimeout as after } from 'node:timers/promises'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

/** Under this key the words travel to every thread that is started from now on. */
const key = 'verbena loading'
/** How many threads load, and how many are being ended. */
const Loading = { loaders: 0, enders: 1 }

/** A thread that was killed nevertheless holds up the others for so long, once. */
const patienceMs = 2000

const words = shared()

function shared(): Int32Array {
  const known = getEnvironmentData(key)
  if (known instanceof SharedArrayBuffer) return new Int32Array(known)
  const made = new SharedArrayBuffer(8)
  setEnvironmentData(key, made)
  return new Int32Array(made)
}

/** Runs `load`, in which no thread of this process is ended. */
export function whileLoading<T>(load: () => T): T {
  const deadline = performance.now() + patienceMs
  Atomics.add(words, Loading.loaders, 1)
  while (Atomics.load(words, Loading.enders) !== 0 && performance.now() < deadline) {
    leave()
    Atomics.wait(words, Loading.enders, Atomics.load(words, Loading.enders), 5)
    Atomics.add(words, Loading.loaders, 1)
  }
  try {
    return load()
  } finally {
    leave()
  }
}

function leave(): void {
  Atomics.sub(words, Loading.loaders, 1)
  Atomics.notify(words, Loading.loaders)
}

/** Whether to wait; when it is too late, those that load are forgotten. */
function someLoad(deadline: number): boolean {
  if (Atomics.load(words, Loading.loaders) <= 0) return false
  if (performance.now() < deadline) return true
  Atomics.store(words, Loading.loaders, 0)
  return false
}

/** Runs `end`, which ends a thread, when none loads; until it has ended none begins to. */
export async function whileNoneLoads<T>(end: () => Promise<T>): Promise<T> {
  Atomics.add(words, Loading.enders, 1)
  try {
    const deadline = performance.now() + patienceMs
    while (someLoad(deadline)) await after(1)
    return await end()
  } finally {
    Atomics.sub(words, Loading.enders, 1)
    Atomics.notify(words, Loading.enders)
  }
}

// What ends with this thread does so after this.
process.on('exit', () => {
  if (isMainThread) Atomics.add(words, Loading.enders, 1)
  const deadline = performance.now() + patienceMs
  while (someLoad(deadline)) Atomics.wait(words, Loading.loaders, Atomics.load(words, Loading.loaders), 5)
})
