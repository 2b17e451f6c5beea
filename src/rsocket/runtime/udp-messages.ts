/** Messages between the threads of udp-service.ts and udp-service-thread.ts. */

export type ToUdp =
  | {
      what: 'bind'
      id: number
      family: 4 | 6
      address: string
      port: number
      reuse: boolean
      v6Only: boolean
      room: Int32Array
    }
  | { what: 'send'; id: number; data: Uint8Array; address: string; port: number }
  | { what: 'broadcast'; id: number; on: boolean }
  | { what: 'close'; id: number }

export type FromUdp =
  /** Notice that the thread runs. */
  | { what: 'ready' }
  | { what: 'bound'; id: number; port: number }
  | { what: 'failed'; id: number; code: string; text: string }
  | { what: 'data'; id: number; data: Uint8Array; address: string; port: number }

/** Shared words of each socket: bytes that wait for the program, their limit, and datagrams that were dropped. */
export const Room = { waiting: 0, limit: 1, dropped: 2 } as const
/** Bytes that a datagram counts in addition to its data. */
export const datagramCost = 256
