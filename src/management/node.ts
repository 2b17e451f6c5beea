/** Interface of an adapter to the management agents that answer for it. Ports are numbered from 1; an adapter here has one. */
import type { NodeInfo, PortInfo } from '../wire/index.ts'

/** Counters of a port since the adapter exists. Data are words of four bytes. */
export interface PortTraffic {
  readonly xmitData: number
  readonly rcvData: number
  readonly xmitPkts: number
  readonly rcvPkts: number
  readonly rcvErrors: number
  readonly xmitDiscards: number
  readonly qp1Dropped: number
}

export type TrafficName = keyof PortTraffic

/**
 * Bases of counters: the value of each counter of an attribute when it was last set, less the value that it was set to. An attribute shows
 * the difference. The attribute with 64 bits has its own.
 */
export interface CounterBases {
  get(extended: boolean, name: TrafficName): number
  set(extended: boolean, name: TrafficName, base: number): void
}

export interface ManagedNode {
  readonly description: string
  readonly nodeInfo: NodeInfo
  readonly portGuid: bigint
  readonly pkeys: readonly number[]
  /** As it is now, with what `setPortInfo` has stored. */
  portInfo(): PortInfo
  /** Stores what a subnet manager sets. */
  setPortInfo(info: PortInfo): void
  traffic(): PortTraffic
  readonly bases: CounterBases
}

/**
 * Result of a request: the MAD was turned into its response; it is for an agent that a program has registered; or no agent answers it, so
 * that the requester's time runs out.
 */
export type Answer = 'answered' | 'passed' | 'dropped'
