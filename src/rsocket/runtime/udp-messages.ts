/** What the threads of udp-service.ts and udp-service-thread.ts tell each other. */

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
  /** The thread runs. */
  | { what: 'ready' }
  | { what: 'bound'; id: number; port: number }
  | { what: 'failed'; id: number; code: string; text: string }
  | { what: 'data'; id: number; data: Uint8Array; address: string; port: number }

/** Shared words of each socket: bytes that wait for the program, their limit, and datagrams that were dropped. */
export const Room = { waiting: 0, limit: 1, dropped: 2 } as const
/** What a datagram counts beside its bytes. */
export const datagramCost = 256
