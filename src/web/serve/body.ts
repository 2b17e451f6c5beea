/** Bodies of requests. */
import type { IncomingMessage } from 'node:http'

/** Time for which the rest of a request is read that was answered before its end: a peer does not read the answer while it sends. */
const restMs = 10_000

/** Returns the body; undefined if it is longer than `most`: then the rest is not read. */
export function bodyOf(request: IncomingMessage, most: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > most) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    request.on('data', (chunk: Uint8Array) => {
      length += chunk.length
      if (length <= most) chunks.push(chunk)
      else {
        chunks.length = 0
        resolve(undefined)
      }
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
  })
}

/** Reads the rest of a request and discards it, for a while. */
export function discardRest(request: IncomingMessage): void {
  if (request.complete) return
  const end = setTimeout(() => request.destroy(), restMs).unref()
  request.once('close', () => clearTimeout(end))
  request.on('error', () => {})
  request.resume()
}
