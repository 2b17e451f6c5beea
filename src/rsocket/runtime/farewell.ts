/**
 * Closes connected sockets when their thread ends, as a kernel does with those of a process. Peers receive the sent data, as far as it can
 * be delivered in a moment, and then the end, or a reset if data of theirs was not read.
 */
// The listener of `cm`, which disconnects, was prepended before this one, and so is called after it.
import '../../cm/index.ts'

/** Maximum time for messages to peers. Messages that they acknowledge later are lost. */
const farewellMs = 50

export interface Leaver {
  /** Notifies the peer that this end closes; returns true when all sent data has arrived, or never will. */
  farewell(): boolean
  /** True if it carries streams of other sockets, which send their farewell first. */
  readonly carries: boolean
}

const connected = new Set<Leaver>()

export function hasConnected(socket: Leaver): void {
  connected.add(socket)
}

export function hasClosed(socket: Leaver): void {
  connected.delete(socket)
}

function done(socket: Leaver): boolean {
  try {
    return socket.farewell()
  } catch {
    // The thread may have been ended at any point.
    return true
  }
}

process.prependListener('exit', () => {
  const until = performance.now() + farewellMs
  for (const carries of [false, true]) {
    let left = [...connected].filter((socket) => socket.carries === carries)
    do left = left.filter((socket) => !done(socket))
    while (left.length > 0 && performance.now() < until)
  }
})
