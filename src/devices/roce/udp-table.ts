/** UDP sockets of this network namespace, as listed in /proc/net. */
import { readFileSync } from 'node:fs'

/**
 * Columns of /proc/net/udp and udp6: sl, local_address, rem_address, st, tx:rx queue, tr:tm->when, retrnsmt, uid, timeout,
 * inode, ref, pointer, drops. An address is its words in the machine's order, in hex.
 */
const column = { local: 1, uid: 7, inode: 9, drops: 12 } as const

export interface BoundSocket {
  /** Address that the socket is bound to, as `addressKey` writes it; zeros: all addresses. */
  readonly address: string
  readonly uid: number
  /** Inode of the socket; 0: it belongs to the kernel. */
  readonly inode: number
  /** Number of datagrams that its full buffer has cost. */
  readonly drops: number
}

/** Returns the sockets that are bound to `port`; none where the system does not list them. */
export function boundSockets(port: number): BoundSocket[] {
  const found: BoundSocket[] = []
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const name of ['udp', 'udp6']) {
    let text: string
    try {
      text = readFileSync(`/proc/net/${name}`, 'latin1')
    } catch {
      continue
    }
    for (const line of text.split('\n').slice(1)) {
      const columns = line.trim().split(/\s+/)
      const local = columns[column.local] ?? ''
      if (!local.endsWith(suffix)) continue
      const number = (index: number): number => Number(columns[index] ?? 0)
      const address = local.slice(0, -suffix.length)
      found.push({
        address,
        uid: number(column.uid),
        inode: number(column.inode),
        drops: number(column.drops),
      })
    }
  }
  return found
}

export function addressKey(address: Uint8Array): string {
  const words = new Uint32Array(address.slice().buffer)
  return Array.from(words, (word) => word.toString(16).toUpperCase().padStart(8, '0')).join('')
}
