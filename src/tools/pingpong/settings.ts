/** What a ping-pong can be told: the options of ibv_rc_pingpong and its siblings, with their defaults. */
import type { PathMtu } from '../../index.ts'

const kinds = ['rc', 'uc', 'ud', 'srq'] as const
export type Kind = (typeof kinds)[number]

export interface PingPongSettings {
  kind: Kind
  /** The server's host; undefined for the server itself. */
  host?: string
  /** Of TCP. */
  port: number
  /** Undefined: the segment where processes of this host meet. */
  device?: string
  ibPort: number
  /** Bytes of each message. */
  size: number
  mtu: PathMtu
  rxDepth: number
  /** Exchanges; with srq all queue pairs together. */
  iters: number
  sl: number
  events: boolean
  /** −1: chosen; see `localPort`. */
  gidIndex: number
  check: boolean
  /** Queue pairs; 1 but for srq. */
  qps: number
  /** How long a client tries to connect, milliseconds. */
  waitMs: number
  /** How long nothing may arrive before the run is given up, milliseconds; 0: for ever. */
  stallMs: number
}

/** Bytes of a message when `-s` is not given. The man page of ibv_ud_pingpong says 2048; the program sends 1024. */
export const defaultSize: Readonly<Record<Kind, number>> = { rc: 4096, uc: 4096, ud: 1024, srq: 4096 }

/** The srq programs always exchange so many addresses, used or not. */
export const srqRecords = 256
