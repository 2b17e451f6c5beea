/** What code leaves on the heap of V8, for tests that say what costs no allocation. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** Bytes that are in use: of the heap, and of buffers. */
export function heldBytes(): number {
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Growth of the heap in bytes while `body` runs; the young generation is so large that no collection falls into it. */
function growth(body: () => void): number {
  gc()
  const before = process.memoryUsage().heapUsed
  body()
  return process.memoryUsage().heapUsed - before
}

/**
 * The least of several runs, the last of which is the first below `enough`: until code is compiled, numbers that are no small integers
 * are objects, and when that happens is not ours to say.
 */
export function leastGrowth(body: () => void, enough: number): number {
  body()
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 40 && least >= enough; run++) {
    const bytes = growth(body)
    // Something was collected meanwhile.
    if (bytes >= 0) least = Math.min(least, bytes)
  }
  return least
}
