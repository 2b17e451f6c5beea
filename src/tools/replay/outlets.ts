/** Destinations of packets in a live replay: an interface, or a UDP socket. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import {
  errnos,
  interfaceIndex,
  NativeError,
  nativeReason,
  nowNs,
  PacketSender,
  sleepUntilNs,
  UdpSocket,
} from '../../memory/index.ts'
import { parseIp } from '../../replay/index.ts'
import { UsageError } from '../kit/index.ts'
import type { Outlet } from './live.ts'

/** Returns an outlet for frames through an interface of this host. Throws NativeError without CAP_NET_RAW. */
export function interfaceOutlet(name: string): Outlet {
  const sender = new PacketSender(indexOf(name))
  return {
    hasRoom: (length) => sender.hasRoom(length),
    add: (bytes, offset, length) => sender.add(bytes, offset, length),
    flush: () => (sender.waiting > 0 ? sender.flush() : 0),
    close: () => sender.close(),
  }
}

function indexOf(name: string): number {
  const index = interfaceIndex(name)
  if (index === 0) throw new UsageError('--interface', `there is no interface ${name}: \`ip link\` lists them`)
  return index
}

/** Bytes for one datagram. */
const datagramBytes = 1 << 16
const fullMs = 1000

export interface UdpOutlet extends Outlet {
  /** Address of 4 or 16 bytes. */
  readonly source: Uint8Array
  readonly sourcePort: number
}

/** Returns an outlet for datagrams to a host, from the address with which this host reaches it. Their tag is the traffic class. */
export async function udpOutlet(host: Uint8Array, hostText: string, port: number): Promise<UdpOutlet> {
  const source = await sourceTo(host.length === 4 ? 'udp4' : 'udp6', hostText, port)
  const memory = new ArrayBuffer(datagramBytes)
  const room = new Uint8Array(memory)
  const socket = UdpSocket.open(memory, { address: source, port: 0 })
  const destination = socket.destination(host, port)
  let rejected = 0
  const send = (length: number, untilNs: number): number => {
    for (;;) {
      const sent = socket.send(0, length, 0, destination)
      // ECONNREFUSED reports an earlier datagram, for which no process listened on the port: this one is sent all the same.
      if (sent === -errnos.ECONNREFUSED) continue
      if (sent !== -errnos.EAGAIN && sent !== -errnos.ENOBUFS) return sent
      const now = nowNs()
      if (now > untilNs) return sent
      sleepUntilNs(now + 20_000)
    }
  }
  return {
    source,
    sourcePort: socket.port,
    hasRoom: () => true,
    add(bytes, offset, length, tag) {
      room.set(bytes.subarray(offset, offset + length))
      socket.setTrafficClass(tag)
      if (send(length, nowNs() + fullMs * 1e6) < 0) rejected++
    },
    flush() {
      const count = rejected
      rejected = 0
      return count
    },
    close: () => socket.close(),
  }
}

/** Returns the address of this host from which datagrams to that one are sent. */
async function sourceTo(type: 'udp4' | 'udp6', host: string, port: number): Promise<Uint8Array> {
  if (nativeReason !== '')
    throw new NativeError('EOPNOTSUPP', 95, 'socket', `--udp is not available here: ${nativeReason}`)
  const socket = createSocket(type)
  try {
    socket.connect(port, host)
    await once(socket, 'connect')
    return parseIp(socket.address().address)!
  } finally {
    socket.close()
  }
}
