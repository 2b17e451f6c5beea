/** Settings of a ping-pong: the options of ibv_rc_pingpong and its siblings, with their defaults. */
import type { PathMtu } from '../../index.ts'

const kinds = ['rc', 'uc', 'ud', 'srq'] as const
export type Kind = (typeof kinds)[number]

export interface PingPongSettings {
  kind: Kind
  /** Host of the server; undefined for the server itself. */
  host?: string
  /** TCP port. */
  port: number
  /** Adapter; undefined: the segment where processes of this host meet. */
  device?: string
  ibPort: number
  /** Bytes of each message. */
  size: number
  mtu: PathMtu
  rxDepth: number
  /** Number of exchanges; with srq of all queue pairs together. */
  iters: number
  sl: number
  events: boolean
  /** Index of the GID; −1: chosen, see `localPort`. */
  gidIndex: number
  check: boolean
  /** Number of queue pairs; 1 except with srq. */
  qps: number
  /** Milliseconds for which a client tries to connect. */
  waitMs: number
  /** Milliseconds without an arrival after which the run is given up; 0: never. */
  stallMs: number
}

/** Bytes of a message when `-s` is not given. The man page of ibv_ud_pingpong has 2048; the program sends 1024. */
export const defaultSize: Readonly<Record<Kind, number>> = { rc: 4096, uc: 4096, ud: 1024, srq: 4096 }

/** Number of addresses that the srq programs always exchange, used or not. */
export const srqRecords = 256
