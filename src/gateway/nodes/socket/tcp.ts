/**
 * TCP, and UNIX streams. A client connects again when its server goes away; a server talks to all its clients. Samples come in the
 * format without anything between them.
 */
import { once } from 'node:events'
import { createServer, type Server, Socket } from 'node:net'
import type { NodeContext, RunningNode } from '../../index.ts'
import { Backoff } from '../kit/backoff.ts'
import { Counters } from '../kit/counters.ts'
import { FramesOut } from '../kit/frames-out.ts'
import { Inbox } from '../kit/inbox.ts'
import { describeAddress } from '../kit/settings.ts'
import { StreamIn } from '../kit/stream-in.ts'
import type { Place, SocketSettings } from './settings.ts'
import { fault } from './udp-address.ts'

const frameLimit = 1 << 16
/** Maximum number of bytes that a peer may not have taken yet; beyond it, samples for it are lost. */
const mostBehind = 1 << 20
const mostPeers = 64
const endMs = 1000

class TcpNode implements RunningNode {
  readonly source: Inbox
  readonly destination: FramesOut
  state = 'started'
  readonly #context: NodeContext
  readonly #counters: Counters
  readonly #peers = new Set<Socket>()
  #stop: () => void = () => {}
  #stopped = false

  constructor(context: NodeContext, { format }: SocketSettings) {
    this.#context = context
    this.#counters = new Counters(context)
    this.source = new Inbox(context, format, this.#counters)
    const send = (frame: Uint8Array, count: number): boolean => this.#send(frame, count)
    this.destination = new FramesOut(context, format, this.#counters, { limit: frameLimit, send })
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  /** Connects, and again whenever the connection ends. */
  connect(to: Place): void {
    const where = text(to)
    let failures = 0
    const backoff = new Backoff(() => attempt())
    const attempt = (): void => {
      this.state = 'pending connect'
      const socket = new Socket()
      let connected = false
      this.#stop = () => {
        backoff.cancel()
        if (!connected) socket.destroy()
      }
      socket.on('error', (error) => {
        if (!connected && failures++ === 0)
          this.#context.log('warn', `${where} is not reached, trying again: ${error.message}`)
      })
      socket.on('connect', () => {
        connected = true
        failures = 0
        backoff.reset()
        this.#context.log('info', `connected to ${where}`)
        this.#add(socket)
      })
      socket.on('close', () => {
        if (this.#stopped) return
        this.state = 'pending connect'
        if (connected) this.#context.log('warn', `the connection to ${where} has ended, connecting again`)
        backoff.schedule()
      })
      if (typeof to === 'string') socket.connect(to)
      else socket.connect(to.port, to.host)
    }
    attempt()
  }

  async listen(at: Place): Promise<void> {
    const server: Server = createServer((socket) => {
      socket.on('error', () => {})
      if (this.#peers.size < mostPeers) {
        this.#add(socket)
        return
      }
      this.#counters.warn('rejected', `there are ${mostPeers} clients already: another one was rejected`)
      socket.destroy()
    })
    if (typeof at === 'string') server.listen(at)
    else server.listen(at.port, at.host === '*' ? undefined : at.host)
    try {
      await once(server, 'listening')
    } catch (error) {
      throw fault(`${text(at)}: ${(error as Error).message}`)
    }
    this.#stop = () => void server.close()
  }

  #add(socket: Socket): void {
    socket.setNoDelay(true)
    // Samples that were written before went to another peer, or to none.
    if (this.#peers.size === 0) this.destination.begin()
    this.#peers.add(socket)
    this.#counters.add('connections')
    this.state = 'connected'
    new StreamIn(socket, this.source, () => socket.destroy())
    socket.on('close', () => {
      this.#peers.delete(socket)
      this.#counters.add('disconnects')
      if (this.#peers.size === 0) this.state = 'started'
    })
  }

  #send(frame: Uint8Array, count: number): boolean {
    let sent = false
    for (const peer of this.#peers) {
      if (!peer.writable) continue
      if (peer.writableLength + frame.length > mostBehind) {
        this.#counters.warn('dropped', `a peer is ${mostBehind >> 20} MiB behind: samples are lost`, count)
        continue
      }
      peer.write(Uint8Array.from(frame))
      sent = true
    }
    if (this.#peers.size === 0) this.#counters.warn('not_connected', 'there is no connection: samples are lost', count)
    return sent
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#stop()
    await Promise.all(
      [...this.#peers].map(async (peer) => {
        const timer = setTimeout(() => peer.destroy(), endMs)
        // Bytes that come from now on are discarded.
        peer.removeAllListeners('data').resume()
        peer.end()
        peer.once('finish', () => peer.destroy())
        await once(peer, 'close')
        clearTimeout(timer)
      }),
    )
    this.source.stop()
    this.state = 'stopped'
  }
}

function text(place: Place): string {
  return typeof place === 'string' ? place : describeAddress(place)
}

export async function startTcp(context: NodeContext, settings: SocketSettings): Promise<RunningNode> {
  const node = new TcpNode(context, settings)
  if (settings.layer === 'tcp-client') node.connect(settings.remote!)
  else {
    try {
      await node.listen(settings.local!)
    } catch (error) {
      await node.stop()
      throw error
    }
  }
  return node
}
