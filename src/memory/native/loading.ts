/**
 * A thread that is ended while it loads native code can take the process with it: the addon throws into an environment that takes no
 * exception any more, which is fatal (`ThrowAsJavaScriptException napi_throw`). So loading goes through gates. A thread passes the gates of
 * all threads that may end it: of each thread above it, which ends what it has started when it ends itself, and its own, if `startThread`
 * or `gateWorkers` made one, because it can be terminated. Code that ends threads closes the gate first and waits until no thread inside it
 * loads; a thread at a closed gate blocks until it is terminated. It never runs again, whatever it was in the middle of: `onPark` notifies
 * the threads that would wait for it.
 *
 * A `Worker` of the program's that is terminated while it loads, where `gateWorkers` was not called before, is beyond this.
 */
import { setTimeout as after } from 'node:timers/promises'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { atExitLast } from './at-exit.ts'

/** Key of the environment data by which threads inherit the gates above them. */
const key = 'verbena gates'
const Gate = { loaders: 0, closed: 1, used: 2 }
/** Milliseconds after which a thread that was killed while it loaded does not delay other threads any longer. */
const patienceMs = 2000

export type Gate = Int32Array

export function makeGate(): Gate {
  return new Int32Array(new SharedArrayBuffer(12))
}

/** Gates that this thread passes when it loads. */
const gates = ((getEnvironmentData(key) ?? []) as unknown as SharedArrayBuffer[]).map((words) => new Int32Array(words))
/** The gate of all threads below this one. */
const below = makeGate()
inherit([...gates, below])

function inherit(all: readonly Gate[]): void {
  setEnvironmentData(key, all.map(({ buffer }) => buffer) as unknown as string)
}

/** Runs `start`, which starts a thread, with one more gate. */
export function behind<T>(gate: Gate, start: () => T): T {
  inherit([...gates, below, gate])
  try {
    return start()
  } finally {
    inherit([...gates, below])
  }
}

const stopped: (() => void)[] = []

/**
 * `callback` runs when this thread comes to a closed gate, where it stays until it is ended: as if it had died there, in the middle of an
 * operation perhaps. Its locks must be free for other threads to take, since the thread that ends it may wait for them.
 */
export function whenStopped(callback: () => void): void {
  stopped.push(callback)
}

let loading = false

/** Runs `load`, which loads native code or has it make objects; this thread cannot be ended meanwhile. */
export function gated<T>(load: () => T): T {
  if (loading) return load()
  for (const gate of gates) {
    Atomics.add(gate, Gate.loaders, 1)
    Atomics.store(gate, Gate.used, 1)
  }
  const closed = gates.find((gate) => Atomics.load(gate, Gate.closed) === 1)
  loading = true
  try {
    if (closed === undefined) return load()
  } finally {
    loading = false
    for (const gate of gates) {
      Atomics.sub(gate, Gate.loaders, 1)
      Atomics.notify(gate, Gate.loaders)
    }
  }
  return stopForGood()
}

/** Stops this thread, which is about to be ended, for good. Not for the main thread, which no thread ends. */
export function stopForGood(): never {
  for (const callback of stopped) callback()
  const never = makeGate()
  for (;;) Atomics.wait(never, Gate.closed, 0)
}

/** Returns true if a thread that this one has started, or one below it, has loaded native code, or tried to. */
export function hasLoadedBelow(): boolean {
  return Atomics.load(below, Gate.used) === 1
}

/** Closes the gate; true if no thread inside it loads, so that there is nothing to wait for. */
export function closeUnusedGate(gate: Gate): boolean {
  Atomics.store(gate, Gate.closed, 1)
  return Atomics.load(gate, Gate.loaders) === 0
}

/** Resolves when no thread inside the gate loads, and none will. */
export async function closeGate(gate: Gate): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!closeUnusedGate(gate) && performance.now() < deadline) await after(1)
}

// What this thread has started ends with it.
atExitLast(() => {
  Atomics.store(below, Gate.closed, 1)
  const deadline = performance.now() + patienceMs
  for (let n = Atomics.load(below, Gate.loaders); n > 0; n = Atomics.load(below, Gate.loaders)) {
    if (performance.now() > deadline) break
    Atomics.wait(below, Gate.loaders, n, 5)
  }
})
