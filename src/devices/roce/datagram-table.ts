/**
 * Sockets of node:dgram, in the one thread that drives devices where the C library cannot be called. Other threads request them through
 * the table of sockets in the segment, and wait for the new state:
 *
 *     asked ──► bound          asked ──► −errno          bound ──► (fd is 0) ──► free
 */
import { errnos } from '../../memory/index.ts'
import { type Host, layout } from '../../verbs/provider/index.ts'
import { rocePort } from '../../wire/index.ts'
import type { HostAddress } from './addresses.ts'
import { DatagramPort } from './datagram-port.ts'
import { DatagramSocket } from './datagram-socket.ts'
import { RoceDev } from './layout.ts'
import { kernelDrops } from './socket-drops.ts'
import { maxSlots, Slot, slotKind } from './socket-table.ts'
import { addressKey } from './udp-table.ts'

export const datagramState = { free: 0, bound: 1, asked: 2 } as const

interface Bound {
  readonly socket: DatagramSocket
  readonly port: DatagramPort
  /** Key in `kernelDrops`; null for a group. */
  readonly key: string | null
}

/** Bound sockets by the first word of their entry in the table. */
const bound = new Map<number, Bound>()

export function portAt(word: number): DatagramPort | null {
  return bound.get(word)?.port ?? null
}

/** Brings the sockets of the device whose record is at `dev` in line with its table. */
export async function followTable(
  host: Host,
  dev: number,
  table: number,
  addresses: readonly HostAddress[],
  ring: () => void,
): Promise<void> {
  const { i32, segment } = host
  for (let slot = 0; slot < maxSlots; slot++) {
    const word = table + slot * Slot.words
    const wanted = i32[word + Slot.fd] !== 0
    const here = bound.get(word)
    // A socket that was closed and requested again is another socket.
    if (here && (!wanted || i32[word + Slot.state] !== datagramState.bound)) {
      bound.delete(word)
      await here.socket.close()
    }
    if (!wanted) {
      // An error stays for the thread that requested the socket.
      if (i32[word + Slot.state] !== datagramState.bound) continue
      Atomics.store(i32, word + Slot.state, datagramState.free)
    } else if (!bound.has(word)) {
      const state = await bind(host, dev, word, addresses, ring)
      if (state < 0) i32[word + Slot.fd] = 0
      else Atomics.add(i32, dev + RoceDev.generation, 1)
      Atomics.store(i32, word + Slot.state, state)
    }
    segment.notify(word + Slot.state)
  }
}

async function bind(
  host: Host,
  dev: number,
  word: number,
  addresses: readonly HostAddress[],
  ring: () => void,
): Promise<number> {
  const { i32 } = host
  const local = addresses[i32[word + Slot.local]!]
  if (local === undefined) return -errnos.EINVAL
  const group = i32[word + Slot.kind] === slotKind.group ? new Uint8Array(i32.buffer, (word + Slot.gid) * 4, 16) : null
  const socket = new DatagramSocket(local, rocePort, group?.slice() ?? null)
  try {
    await socket.bind()
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return -(code in errnos ? errnos[code as keyof typeof errnos] : errnos.EIO)
  }
  const key = group === null ? addressKey(local.address) : null
  const index = (dev - host.at.devices) / layout.Dev.words
  socket.onSendError = () => host.count(index, 'send_err')
  bound.set(word, { socket, port: new DatagramPort(socket, local, host.u8, ring), key })
  return datagramState.bound
}

/** Updates `systemDrops` of the ports. Several sockets may be bound to a group's address: those are left out. */
export function lookForDrops(): void {
  const drops = kernelDrops(rocePort)
  for (const { port, key } of bound.values()) if (key !== null) port.systemDrops = drops.get(key) ?? port.systemDrops
}

export async function closeAll(): Promise<void> {
  await Promise.all([...bound.values()].map(({ socket }) => socket.close()))
  bound.clear()
}
