/**
 * A rank on one device: its memory, the gate, and the lanes of the measured transport, with the endpoints that the other ranks exchanged.
 */
import type { Group } from '../../collectives/launch/index.ts'
import { multicastGroup, whyNoMulticast } from '../../collectives/multicast-group.ts'
import type { Context, ProtectionDomain } from '../../index.ts'
import { localPort } from '../kit/index.ts'
import { tell } from '../rank-kit/index.ts'
import { DeviceMemory, type RemoteMemory } from './device-memory.ts'
import { Gate } from './gate.ts'
import { type Endpoint, Lanes } from './lanes.ts'
import type { DeviceFacts } from './plan.ts'
import type { Transport } from './settings.ts'
import type { Waiter } from './waiting.ts'

const gidFlag = '--device'

export interface EndOptions {
  group: Group
  context: Context
  waiter: Waiter
  /** Bytes of the largest message. */
  memSize: number
  /** Messages in flight on a lane. */
  depth: number
}

export class End {
  readonly memory: DeviceMemory
  readonly #options: EndOptions
  readonly #pd: ProtectionDomain
  readonly #gidIndex: number
  readonly #peers: number
  remote: readonly RemoteMemory[] = []
  #gateLanes: Lanes | null = null
  #gate: Gate | null = null
  #lanes: Lanes | null = null
  #sync: Lanes | null = null

  private constructor(options: EndOptions) {
    const { group, context, memSize } = options
    this.#options = options
    this.#pd = context.allocPd()
    this.#peers = group.rank === 0 ? group.size - 1 : 1
    this.#gidIndex = gidIndexOf(context)
    this.memory = new DeviceMemory(context, this.#pd, this.#peers, memSize)
  }

  /** Opens the end; a collective call of all ranks. */
  static async open(options: EndOptions): Promise<End> {
    const end = new End(options)
    const { group, waiter } = options
    const all = await tell(
      group,
      upTo(end.#peers).map((peer) => end.memory.forPeer(peer)),
    )
    end.remote = ofPeers(group.rank, all)
    end.#gateLanes = await end.#connect('RC', 2)
    end.#gate = new Gate(end.memory, end.#gateLanes, end.remote, waiter)
    return end
  }

  get gate(): Gate {
    return this.#gate!
  }

  get lanes(): Lanes {
    return this.#lanes!
  }

  /** Lanes of the multicast that starts the reads of the other ranks; null where there is no multicast. */
  get sync(): Lanes | null {
    return this.#sync
  }

  /** Sets up the queue pairs of this transport, and the multicast lanes that RDMA READ also needs. A collective call of all ranks. */
  async use(transport: Transport, withSync: boolean): Promise<void> {
    if (this.#lanes?.transport !== transport) {
      this.#lanes?.close()
      this.#lanes = null
      this.#lanes = await this.#connect(transport, this.#options.depth)
    }
    if (withSync && this.#sync === null) {
      this.#sync = await this.#connect('multicast', 1)
      this.#sync.prepare('SEND', 1, this.remote)
    }
  }

  async #connect(transport: Transport, depth: number): Promise<Lanes> {
    const { group, context } = this.#options
    const lanes = new Lanes({
      ...{ context, pd: this.#pd, memory: this.memory, transport, gidIndex: this.#gidIndex },
      ...{ peers: this.#peers, depth },
    })
    const mine = upTo(this.#peers).map((lane) => lanes.endpoint(lane))
    const mcast = transport === 'multicast' ? multicastGroup(lanes.local[0]!.gid) : null
    const all = await tell<{ ends: Endpoint[]; mcast: string }>(group, {
      ends: mine,
      mcast: Buffer.from(mcast ?? []).toString('hex'),
    })
    const chosen = mcast === null ? null : new Uint8Array(Buffer.from(all[0]!.mcast, 'hex'))
    const ends = ofPeers(
      group.rank,
      all.map((each) => each.ends),
    )
    lanes.connect(ends, this.remote, chosen, group.rank !== 0)
    // No rank may send to a queue pair that is not ready, or to a group that some rank has not joined yet.
    await group.barrier()
    return lanes
  }

  close(): void {
    for (const lanes of [this.#lanes, this.#sync, this.#gateLanes]) lanes?.close()
    this.memory.close()
    this.#pd.close()
  }
}

/** Selects the entries of this rank's peers: rank 0 gets the only entry of each other rank, another rank its own entry of rank 0's list. */
function ofPeers<T>(rank: number, all: readonly (readonly T[])[]): T[] {
  return rank === 0 ? all.slice(1).map((entries) => entries[0]!) : [all[0]![rank - 1]!]
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}

function gidIndexOf(context: Context): number {
  return Math.max(0, localPort(context, 1, -1, gidFlag).gidIndex)
}

/** Returns the properties of the device that this rank measures on. */
export function probe(context: Context): DeviceFacts {
  const port = context.queryPort(1)
  return { mtu: port.activeMtu, maxMessage: port.maxMsgSz, noMulticast: whyNoMulticast(context, gidIndexOf(context)) }
}

/** Returns the limits that hold for all ranks. */
export function worst(all: readonly DeviceFacts[]): DeviceFacts {
  return {
    mtu: Math.min(...all.map(({ mtu }) => mtu)),
    maxMessage: Math.min(...all.map(({ maxMessage }) => maxMessage)),
    noMulticast: all.find(({ noMulticast }) => noMulticast !== '')?.noMulticast ?? '',
  }
}
