/**
 * HTTP/2 servers under the preload. A peer may send a request and cancel it at once. Over TCP Node runs the next-tick queue between two
 * frames of one packet, so a server is notified of the request before that is gone; with data from JavaScript, as here, Node does not,
 * and the program's `stream.respond()` would throw an error that no code catches. So a request that is gone already is not reported.
 */
import type { NodeServer } from './node-net.ts'

type Emit = (name: string | symbol, ...args: unknown[]) => boolean
interface Emitter {
  emit: Emit
}
interface Stream {
  destroyed: boolean
  closed: boolean
  on(event: 'error', listener: () => void): void
}

const guarded = new WeakSet<object>()

export function guardStreams(server: NodeServer): void {
  if (!isHttp2(server)) return
  guard(server, (name, [session]) => {
    if (name === 'session') guard(session as Emitter, isGone)
    return isGone(name, [session])
  })
}

/** True for an HTTP/2 server, by its class's name: importing `node:http2` would load it for all programs. */
function isHttp2(server: object): boolean {
  for (let prototype = server; prototype; prototype = Object.getPrototypeOf(prototype))
    if (/^Http2(Secure)?Server$/.test(prototype.constructor.name)) return true
  return false
}

function guard(emitter: Emitter, isDropped: (name: string | symbol, args: readonly unknown[]) => boolean): void {
  if (guarded.has(emitter)) return
  guarded.add(emitter)
  const { emit } = emitter
  const value: Emit = (name, ...args) => isDropped(name, args) || emit.call(emitter, name, ...args)
  Object.defineProperty(emitter, 'emit', { value, writable: true, configurable: true, enumerable: false })
}

function isGone(name: string | symbol, [stream]: readonly unknown[]): boolean {
  if (name !== 'stream') return false
  const { destroyed, closed } = stream as Stream
  if (!destroyed && !closed)
    return false
    // Its error has no other listener.
  ;(stream as Stream).on('error', () => {})
  return true
}
