/** Trunks to peers: one for each address to which sockets with RDMA_SHARE connect. */
import { inRootContext } from '../../memory/index.ts'
import { type StreamConnection, Trunk, type TrunkOwner } from '../protocol/index.ts'
import type { SocketAddress } from './address.ts'
import type { IoContext } from './io-context.ts'
import type { Watch } from './watches.ts'

/** Time for which a trunk without streams is kept. */
const keepMs = 1000

/** Socket that carries a trunk. */
export interface Carrier {
  /** Callback for the result of the connect: 0, or the error. */
  onSettled: ((errno: number) => void) | null
  trunk: Trunk | null
  readonly io: IoContext | null
  readonly reason: string
  /** Maximum number of streams that it may carry. */
  readonly maxStreams: number
  /** Connection of the socket, if the peer uses it as a trunk too. */
  readonly trunkConnection: StreamConnection | null
  connectPlain(addr: SocketAddress): number
  watch(events: number, callback: (revents: number) => void): Watch
  close(): number
}

/** A socket that wants a stream. */
export interface Joining {
  opened(trunk: Trunk, carrier: Carrier): void
  /** Handles a peer that does not share: the socket takes over the connection that was made and returns true, or returns false. */
  adopt(carrier: Carrier): boolean
  alone(): void
  failed(errno: number, reason: string): void
}

export class Route implements TrunkOwner {
  readonly #carrier: Carrier
  readonly #gone: () => void
  #waiting: Joining[] = []
  #trunk: Trunk | null = null
  #timer: NodeJS.Timeout | undefined
  #over = false

  /** `gone` is called when no socket can use the route any more. */
  constructor(carrier: Carrier, gone: (shares: boolean) => void) {
    this.#carrier = carrier
    this.#gone = () => gone(true)
    carrier.onSettled = (errno) => {
      carrier.onSettled = null
      const connection = carrier.trunkConnection
      const waiting = this.#waiting.splice(0)
      if (errno !== 0) {
        gone(true)
        for (const one of waiting) one.failed(errno, carrier.reason)
      } else if (connection === null) {
        gone(false)
        let adopted = false
        for (const one of waiting) {
          if (adopted) one.alone()
          else adopted = one.adopt(carrier)
        }
        if (!adopted) carrier.close()
      } else {
        this.#trunk = keepTrunk(carrier, connection, this)
        for (const one of waiting)
          if (this.#trunk.full) one.alone()
          else one.opened(this.#trunk, carrier)
      }
    }
  }

  /** Connects the carrier. Called after the first socket has joined, because the connection may be made before this returns. */
  connect(addr: SocketAddress): void {
    const carrier = this.#carrier
    const result = carrier.connectPlain(addr)
    if (result < 0 && carrier.onSettled !== null && carrier.reason !== '') carrier.onSettled(-result)
  }

  join(socket: Joining): void {
    clearTimeout(this.#timer)
    if (this.#trunk === null) this.#waiting.push(socket)
    else if (this.#trunk.full) socket.alone()
    else socket.opened(this.#trunk, this.#carrier)
  }

  idle(trunk: Trunk): void {
    if (this.#over) return
    clearTimeout(this.#timer)
    const end = (): void => {
      if (this.#over || (trunk.streams.size > 0 && trunk.open)) return
      this.#over = true
      this.#gone()
      this.#carrier.close()
    }
    if (!trunk.open) end()
    else this.#timer = inRootContext(() => setTimeout(end, keepMs).unref())
  }
}

/** Makes a trunk of a connected socket, and drives it in the event loop. */
export function keepTrunk(carrier: Carrier, connection: StreamConnection, owner: TrunkOwner): Trunk {
  const trunk = new Trunk(connection, owner, carrier.maxStreams)
  carrier.trunk = trunk
  // Its streams keep the process alive, the trunk does not.
  inRootContext(() => carrier.watch(0, () => trunk.process())).unref()
  return trunk
}
