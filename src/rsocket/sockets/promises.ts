/** Waiting for sockets in the event loop, on which the promise forms of their calls are built. */
import { Errno } from '../protocol/index.ts'
import { RSocketError } from './errors.ts'
import type { RSocketLike } from './types.ts'

type Waiter = Pick<RSocketLike, 'watch' | 'reason'>

/** Resolves when one of `events` is true. */
export function whenReady(socket: Waiter, events: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = socket.watch(events, () => {
      stop()
      resolve()
    })
  })
}

export function rejection(socket: Waiter, errno: number, syscall: string): RSocketError {
  return new RSocketError(errno, syscall, socket.reason || undefined)
}

/** Repeats a call that never waits until it has a result other than `-EAGAIN`; an error rejects. */
export async function whenDone(socket: Waiter, events: number, syscall: string, call: () => number): Promise<number> {
  for (;;) {
    const result = call()
    if (result >= 0) return result
    if (result !== -Errno.EAGAIN) throw rejection(socket, result, syscall)
    await whenReady(socket, events)
  }
}
