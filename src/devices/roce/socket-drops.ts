/** What the kernel dropped at UDP sockets because their buffers were full: for where no socket option tells. */
import { boundSockets } from './udp-table.ts'

/** Drops of the sockets that are bound to `port`, by `addressKey` of their address; empty where the system does not tell. */
export function kernelDrops(port: number): Map<string, number> {
  return new Map(boundSockets(port).map(({ address, drops }) => [address, drops]))
}
