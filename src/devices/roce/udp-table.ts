/** The UDP sockets of this network namespace, as /proc/net tells of them. */
import { readFileSync } from 'node:fs'

/**
 * Columns of /proc/net/udp and udp6: sl, local_address, rem_address, st, tx:rx queue, tr:tm->when, retrnsmt, uid, timeout,
 * inode, ref, pointer, drops. An address is its words in the machine's order, in hex.
 */
const column = { local: 1, uid: 7, inode: 9, drops: 12 } as const

export interface BoundSocket {
  /** The address that it is bound to, as `addressKey` writes it; zeros: all addresses. */
  readonly address: string
  readonly uid: number
  /** 0: it belongs to the kernel. */
  readonly inode: number
  /** Datagrams that its full buffer has cost. */
  readonly drops: number
}

/** The sockets that are bound to `port`; none where the system does not tell. */
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
