/**
 * What the system takes of a ping-pong on `roce`: the same system calls from the same socket class, two datagrams of the
 * sizes of a SEND of 8 bytes and its ACK in one call, as the adapter sends them, and no protocol.
 */
import { nowNs, UdpSocket } from '../src/memory/index.ts'
import { medianOf } from '../src/stats/index.ts'
import type { PingPongResult, RunRequest } from './loops.ts'

/** BTH, 8 bytes, ICRC; and BTH, AETH, ICRC. */
const sendBytes = 24
const ackBytes = 20
const roomBytes = 65_536

let memory: SharedArrayBuffer | null = null
let socket: UdpSocket | null = null
let peer = -1

/** An address in the form of a GID, and a port. */
export interface BareAddress {
  gid: Uint8Array
  port: number
}

/** Opens a socket on any port of an address. */
export function openBare(gid: Uint8Array): BareAddress {
  memory ??= new SharedArrayBuffer(2 * roomBytes)
  socket = UdpSocket.open(memory, { address: gid, port: 0 })
  return { gid, port: socket.port }
}

export function connectBare({ gid, port }: BareAddress): void {
  peer = socket!.destination(gid, port)
}

export function closeBare(): void {
  socket?.close()
  socket = null
}

export function pingPongBare({ client, iterations }: RunRequest): PingPongResult {
  const warmup = Math.ceil(iterations / 10)
  const times = new Float64Array(iterations)
  if (client) send()
  for (let i = 0; i < warmup; i++) bounce()
  let before = nowNs()
  const start = before
  for (let i = 0; i < iterations; i++) {
    receive()
    if (!client || i < iterations - 1) send()
    const now = nowNs()
    times[i] = now - before
    before = now
  }
  return { averageNs: (before - start) / iterations / 2, medianNs: medianOf(times) / 2 }
}

function bounce(): void {
  receive()
  send()
}

function send(): void {
  const sent = socket!.send(0, sendBytes + ackBytes, sendBytes, peer)
  if (sent !== sendBytes + ackBytes) throw new Error(`sendmsg: ${sent} instead of ${sendBytes + ackBytes}`)
}

function receive(): void {
  for (let got = 0; got < sendBytes + ackBytes; ) got += Math.max(0, socket!.receive(roomBytes, roomBytes))
}
