/**
 * Keepalives of the sockets of this thread, on one timer that runs once a second: with a timer for each socket, hundreds of idle
 * connections would wake the process, and the reactor poll for a while, for one keepalive each.
 */
import { every, inRootContext } from '../../memory/index.ts'

interface Probed {
  /** Number of ticks from one keepalive to the next. */
  readonly every: number
  readonly send: () => void
  due: number
}

const all = new Set<Probed>()
let ticks = 0
let stop: (() => void) | undefined

function tick(): void {
  ticks++
  for (const one of all) {
    if (one.due > ticks) continue
    one.due = ticks + one.every
    one.send()
  }
}

/**
 * Calls `send` every `seconds`, the first time up to a second earlier or half a second later, until the returned function is called. It
 * does not keep the process alive.
 */
export function everySeconds(seconds: number, send: () => void): () => void {
  const ticksBetween = Math.max(1, Math.ceil(seconds))
  const one = { every: ticksBetween, send, due: ticks + ticksBetween }
  all.add(one)
  stop ??= inRootContext(() => every(1000, tick))
  return () => {
    if (!all.delete(one) || all.size > 0) return
    stop?.()
    stop = undefined
  }
}
