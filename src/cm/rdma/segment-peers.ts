/**
 * The peers of connections in a segment. No kernel disconnects for a process that dies on `shm`, so connected ids look for dead peers: for
 * agents whose slot in the segment another agent has, or none. The end of an agent is an event for all other agents.
 */
import { untilLook } from '../../memory/index.ts'
import type { QpType, QueuePair } from '../../verbs/index.ts'
import { agentAt, agentSlotOfCommId } from '../../verbs/provider/index.ts'

/** Maximum wait before the peers are checked, in case that event is lost. */
const lookMs = untilLook(1000)

export interface SegmentConnection {
  /** The agent of the peer is gone: its thread or process has ended. */
  peerGone(): void
}

export class SegmentPeers {
  readonly #qp: QueuePair<typeof QpType.GSI>
  /** Agents of peers and the connections to them, by the agent's slot. */
  readonly #peers = new Map<number, { agent: number; connections: Set<SegmentConnection> }>()
  constructor(qp: QueuePair<typeof QpType.GSI>) {
    this.#qp = qp
  }

  get longestWaitMs(): number {
    return this.#peers.size > 0 ? lookMs : Number.POSITIVE_INFINITY
  }

  /** Notifies the connection when its peer is gone, until the returned function is called. */
  watch(remoteCommId: number, connection: SegmentConnection): () => void {
    const slot = agentSlotOfCommId(remoteCommId)
    if (slot === 0) return () => {}
    let known = this.#peers.get(slot)
    if (known === undefined) {
      known = { agent: agentAt(this.#qp, slot), connections: new Set() }
      this.#peers.set(slot, known)
    }
    const { connections } = known
    connections.add(connection)
    return () => {
      connections.delete(connection)
      if (connections.size === 0 && this.#peers.get(slot)?.connections === connections) this.#peers.delete(slot)
    }
  }

  /** Checks the peers; returns the number of connections that have lost theirs. */
  look(): number {
    let gone = 0
    for (const [slot, { agent, connections }] of this.#peers) {
      if (agentAt(this.#qp, slot) === agent) continue
      this.#peers.delete(slot)
      for (const connection of connections) connection.peerGone()
      gone += connections.size
    }
    return gone
  }
}
