/** Sockets that connect and may still become either, RDMA or TCP: they have no handle, and perhaps no link. */
import type { NodeSocket } from './node-net.ts'

export interface Undecided {
  ref(): void
  unref(): void
  /** Ends the attempt: the socket is destroyed. */
  abandon(): void
}

export const attempts: WeakMap<NodeSocket, Undecided> = new WeakMap()
