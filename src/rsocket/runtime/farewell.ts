/**
 * What happens to connected sockets when their thread ends: what a kernel does with those of a process. Peers receive what was
 * sent, as far as it can be delivered in a moment, and then the end, or a reset if something of theirs was not read.
 */
// Its listener, which disconnects, was set before this one, and so is called after it.
import '../../cm/index.ts'

/** How long messages to peers may take. Those that they acknowledge later are lost. */
const farewellMs = 50

export interface Leaver {
  /** Says that this end closes; true when all that was sent has arrived, or never will. */
  farewell(): boolean
  /** It carries streams of others, which say theirs first. */
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
    // The thread may have been ended in the middle of anything.
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
