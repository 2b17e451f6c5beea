/** What the kernel dropped at UDP sockets because their buffers were full, from /proc/net: for where no socket option tells. */
import { readFileSync } from 'node:fs'

/**
 * Columns of /proc/net/udp and udp6: sl, local_address, rem_address, st, tx:rx queue, tr:tm->when, retrnsmt, uid, timeout,
 * inode, ref, pointer, drops. An address is its words in the machine's order, in hex.
 */
const localColumn = 1
const dropsColumn = 12

/** Drops of the sockets that are bound to `port`, by `dropsKey` of their address; empty where the system does not tell. */
export function kernelDrops(port: number): Map<string, number> {
  const found = new Map<string, number>()
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
      const local = columns[localColumn] ?? ''
      if (local.endsWith(suffix)) found.set(local.slice(0, -suffix.length), Number(columns[dropsColumn] ?? 0))
    }
  }
  return found
}

export function dropsKey(address: Uint8Array): string {
  const words = new Uint32Array(address.slice().buffer)
  return Array.from(words, (word) => word.toString(16).toUpperCase().padStart(8, '0')).join('')
}
