/**
 * The descriptor on which the event loop of a thread waits. A thread that blocks on other descriptors watches that one, too: Node
 * signals the loop when the thread is to end, and can end a thread only once it is back from the kernel.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { gated, makeLoopPipe } from './native/index.ts'

const mostTurns = 4

/** Returns the descriptor of this thread; −1 if it cannot be determined. */
export async function loopDescriptor(): Promise<number> {
  let pipe = -1
  let socket: Socket | undefined
  try {
    socket = gated(() => {
      pipe = makeLoopPipe()
      return new Socket({ fd: pipe, writable: false }).on('error', () => undefined).resume()
    })
    // The loop registers its descriptors with the kernel when it waits: that may be in its next turn.
    for (let turn = 0; turn < mostTurns; turn++) {
      await turnOfLoop()
      const fd = watcherOf(pipe)
      if (fd >= 0) return fd
    }
  } catch {
    // No descriptors left, or no /proc.
  } finally {
    socket?.destroy()
  }
  return -1
}

/** The descriptor (epoll) that watches another one; −1 if none does. */
function watcherOf(watched: number): number {
  const line = new RegExp(`^tfd:\\s+${watched}\\s`, 'm')
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`) !== 'anon_inode:[eventpoll]') continue
      if (line.test(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))) return Number(fd)
    } catch {
      // One that was closed meanwhile.
    }
  }
  return -1
}

/** Waits for one turn of the event loop, in which it runs pending callbacks. */
export function turnOfLoop(): Promise<void> {
  // Those are called after the callbacks of the events that the kernel has reported.
  return new Promise((resolve) => setImmediate(resolve))
}
