/** Sockets with RDMA_SHARE: streams of trunks, and sockets that carry a trunk for others. */
import { Errno, type StreamConnection, type Trunk, type TrunkStream } from '../protocol/index.ts'
import {
  activate,
  type Carrier,
  CmService,
  IoContext,
  keepTrunk,
  named,
  Route,
  type SocketAddress,
} from '../runtime/index.ts'
import { Establishing } from './establishing.ts'
import type { State } from './readiness.ts'

export abstract class Sharing extends Establishing implements Carrier {
  protected abstract override another(): Sharing

  protected override begin(addr: SocketAddress): number {
    const { share, extensions } = this.options.stream
    return share && extensions && this.state === 'idle' ? this.connectShared(addr) : this.connectPlain(addr)
  }

  protected becomesTrunk(listener: Establishing): boolean {
    const connection = this.trunkConnection
    if (connection === null) return false
    this.nonBlocking = true
    keepTrunk(this, connection, {
      arrive: (stream) => (listener as Sharing).arriveShared(stream, this),
      idle: (trunk) => {
        if (!trunk.open && !this.closed) this.close()
      },
    })
    return true
  }

  /** Connects over the trunk to that address, which is made if it does not exist. */
  protected connectShared(addr: SocketAddress): number {
    this.cm ??= CmService.acquire(this.device)
    const { routes, alone } = this.cm
    const key = `${addr.address} ${addr.port}`
    if (alone.has(key)) return this.connectAlone(addr)
    this.state = 'connecting'
    const known = routes.get(key)
    let route = known
    if (route === undefined) {
      const carrier = this.another()
      carrier.options = this.options.inherit()
      carrier.nonBlocking = true
      route = new Route(carrier, (shares) => {
        routes.delete(key)
        if (!shares) alone.add(key)
      })
      routes.set(key, route)
    }
    route.join({
      opened: (trunk, carrier) => this.openOn(trunk, carrier as Sharing),
      adopt: (carrier) => this.state === 'connecting' && this.adopt(carrier as Sharing),
      alone: () => {
        if (this.state !== 'connecting') return
        this.state = 'idle'
        const result = this.connectAlone(addr)
        if (result < 0 && result !== -Errno.EINPROGRESS) this.settle(-result)
      },
      failed: (errno, reason) => this.connectFailed(errno, reason),
    })
    if (known === undefined) route.connect(addr)
    this.hold()
    if ((this.state as State) === 'connected') return 0
    return (this.state as State) === 'failed' ? this.takeError() : -Errno.EINPROGRESS
  }

  /** Connects with a queue pair of its own, which the peer must not take for a trunk. */
  private connectAlone(addr: SocketAddress): number {
    this.options.stream.share = false
    return this.connectPlain(addr)
  }

  /** Records the error of a connect that could not be attempted. */
  private settle(errno: number): void {
    this.pendingError = errno
    if (this.watches.size > 0) activate(this)
  }

  /** Takes over the connection of another socket, which is then closed. */
  private adopt(other: Sharing): boolean {
    this.id = other.id
    this.id!.context = this
    const own = other.own!
    this.own = own
    own.member = this
    other.id = undefined
    other.own = null
    other.stream = null
    other.connection = null
    other.close()
    this.becomeConnected(own)
    if (this.watches.size > 0) activate(this)
    return true
  }

  private openOn(trunk: Trunk, carrier: Sharing): void {
    if (this.state !== 'connecting') return
    const stream = trunk.openStream()
    this.opening = trunk
    stream.onAnswer = (errno) => {
      this.opening = null
      if (this.state !== 'connecting') stream.disconnect()
      else if (errno !== 0) this.connectFailed(errno, `${carrier.peerText()} refused the stream`)
      else this.attach(stream, carrier, true)
      if (this.watches.size > 0) activate(this)
    }
    if (!trunk.open) stream.carrierEnded(trunk.carrier.error || Errno.ECONNRESET, trunk.carrier.reason)
  }

  /** Makes this socket the end of a stream of a trunk. */
  private attach(stream: TrunkStream, carrier: Sharing, connecting: boolean): void {
    // The carrier may be gone before this socket is.
    const io = IoContext.acquire(carrier.io!.context)
    const close = (): void => {
      stream.end(Errno.ECONNRESET, 'closed')
      io.release()
    }
    stream.onNews = () => activate(this)
    this.cm ??= CmService.acquire(this.device)
    const own = named(carrier.id!.localAddress)
    const peer = named(carrier.id!.peerAddress!)
    if (connecting) own.port = stream.port
    else peer.port = stream.port
    this.names = { own, peer }
    this.becomeConnected({ io, connection: stream, close })
  }

  /** Accepts a stream that the peer opens on a trunk to this listener; false rejects it. */
  private arriveShared(stream: TrunkStream, carrier: Sharing): boolean {
    if (this.state !== 'listening' || this.acceptQueueFull || carrier.closed) return false
    const socket = this.another()
    socket.options = this.options.inherit()
    socket.attach(stream, carrier, false)
    this.accepted.push(socket)
    if (this.watches.size > 0) activate(this)
    return true
  }

  get maxStreams(): number {
    return this.options.maxStreams
  }

  /** Connection of a socket that may carry others, if the peer agrees. */
  get trunkConnection(): StreamConnection | null {
    const connection = this.own?.connection
    return connection?.trunk === true ? connection : null
  }
}
