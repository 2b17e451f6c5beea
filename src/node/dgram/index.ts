/** `verbena/dgram`: datagrams over rsockets, with the shape of `node:dgram`. */
import type { SocketType } from 'node:dgram'
import { callable } from '../base/callable.ts'
import '../base/rsockets.ts'
import { type MessageListener, Socket as SocketClass, type SocketOptions } from './socket.ts'

export type { MessageListener, SocketOptions }
export type Socket = SocketClass
export const Socket: typeof SocketClass = callable(SocketClass)

/** Returns a socket of the type 'udp4' or 'udp6'; the listener is for 'message'. */
export function createSocket(type: SocketType | SocketOptions, listener?: MessageListener): Socket {
  return new Socket(type, listener)
}

const all: { Socket: typeof Socket; createSocket: typeof createSocket } = { Socket, createSocket }
export default all
