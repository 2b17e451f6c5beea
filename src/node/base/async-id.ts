/**
 * Node keeps the asynchronous id of a socket's handle under a symbol of its own: that id is the
 * trigger of what it does for the socket later.
 */
import { Server } from 'node:net'

const key = Object.getOwnPropertySymbols(new Server()).find((symbol) => symbol.description === 'async_id_symbol')

/** Sets the id of sockets and servers of `node:net` and `node:dgram`; other objects have no such symbol. */
export function setAsyncId(of: object, id: number): void {
  if (key !== undefined && key in of) (of as Record<symbol, number>)[key] = id
}
