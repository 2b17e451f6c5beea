/**
 * Keepalives of the sockets of this thread, on one timer that runs once a second: with a timer for each socket, hundreds of idle
 * connections would wake the process, and the reactor poll for a while, for one keepalive each.
 */
import { inRootContext } from '../../memory/index.ts'

interface Probed {
  /** Ticks from one keepalive to the next. */
  readonly every: number
  readonly send: () => void
  due: number
}

const all = new Set<Probed>()
let ticks = 0
let timer: NodeJS.Timeout | undefined

function tick(): void {
  ticks++
  for (const one of all) {
    if (one.due > ticks) continue
    one.due = ticks + one.every
    one.send()
  }
}

/**
 * Calls `send` every so many seconds, the first time up to a second earlier, until the function that is returned is called. That does not keep the
 * process alive.
 */
export function everySeconds(seconds: number, send: () => void): () => void {
  const every = Math.max(1, Math.ceil(seconds))
  const one = { every, send, due: ticks + every }
  all.add(one)
  timer ??= inRootContext(() => setInterval(tick, 1000).unref())
  return () => {
    if (!all.delete(one) || all.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
