/** Standard input in chunks, until its end or until it is stopped; standard output at the speed of its reader. */
import { fstatSync, readSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { currentRun } from '../../cli/terminal/index.ts'

const chunkBytes = 1 << 18

/** Yields chunks; each is overwritten by the next. */
export async function* standardInput(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  if (isPlainFile()) yield* fileChunks(signal)
  else yield* streamChunks(signal)
}

function isPlainFile(): boolean {
  try {
    return fstatSync(0).isFile()
  } catch {
    return false
  }
}

/** Reads without a stream, which takes half the time. Between chunks the event loop runs, so that Ctrl-C is handled. */
async function* fileChunks(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const chunk = new Uint8Array(chunkBytes)
  while (!signal.aborted) {
    const count = readSync(0, chunk, 0, chunk.length, null)
    if (count === 0) return
    yield chunk.subarray(0, count)
    await nextTurn()
  }
}

async function* streamChunks(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const { stdin } = process
  const stop = (): void => {
    stdin.destroy()
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of stdin) yield chunk as Uint8Array
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Writes the bytes; fulfilled when they are written, so that a slow reader slows the conversion down, and memory stays bounded. */
export function standardOutput(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    currentRun().io.stdout.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}
