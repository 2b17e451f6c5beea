/**
 * WebSockets, as VILLASnode's: a message is a frame of samples. As a client it connects to `destinations`, again when one goes away; as a
 * server it listens at /NODE, or /NODE.FORMAT for another format than that of the node: on a port of its own, or on that of the API,
 * which passes the connections on to a UNIX socket of the node.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import { Token } from '../../web/index.ts'
import {
  type Destination,
  type Format,
  formatNames,
  GatewayError,
  type NodeContext,
  type NodeType,
  type ParsedNode,
  type RunningNode,
  type SettingsReader,
} from '../index.ts'
import { Backoff } from './kit/backoff.ts'
import { Counters } from './kit/counters.ts'
import { FramesOut } from './kit/frames-out.ts'
import { Inbox } from './kit/inbox.ts'
import { inboxNode } from './kit/inbox-node.ts'
import { formatSetting, formatWith, inMessages, noMoreSettings } from './kit/settings.ts'

interface WebsocketSettings {
  readonly format: Format
  readonly destinations: readonly { readonly uri: string; readonly format: Format }[]
  /** Port to listen on; undefined: that of the API. */
  readonly port: number | undefined
  readonly address: string
  /** Token that clients of that port have to know; the port of the API has its own. */
  readonly token: Token | undefined
  /** True if the node has not started before it is connected to all destinations. */
  readonly waitConnected: boolean
}

const subProtocol = 'live'
const frameLimit = 1 << 18
/** Maximum number of bytes of a message that is received. */
const mostBytes = 1 << 20
/** Maximum number of bytes that a peer may not have taken yet; beyond it, samples for it are lost. */
const mostBehind = 1 << 20
const mostPeers = 64
const heartbeatMs = 10_000
const endMs = 1000
/** Interval at which a node that waits for its connections looks for them. */
const lookMs = 20

function websocketSettings(settings: SettingsReader): WebsocketSettings {
  const format = formatSetting(settings, 'villas.web', inMessages)
  const example = 'ws://192.168.0.2:8080/node.json'
  const destinations = settings.strings('destinations', [], example).map((given) => {
    // VILLASnode takes the schemes of HTTP, too.
    const uri = given.replace(/^http/, 'ws')
    const parts = /^wss?:\/\/[^/]+\/(?:[^?]*\/)?[^/.?]+(?:\.([\w.]+))?(?:\?\S*)?$/.exec(uri)
    if (parts === null)
      settings.refuse(
        'destinations',
        'URIs such as ws://HOST:PORT/NODE or ws://HOST:PORT/NODE.FORMAT',
        `["${example}"]`,
      )
    if (parts[1] !== undefined && !formatNames.includes(parts[1]))
      settings.fail(`destinations: ${uri}: there is no format ${parts[1]}: ${formatNames.join(', ')}`, 'destinations')
    return { uri, format: parts[1] === undefined ? format : formatWith(parts[1], inMessages) }
  })
  const port = settings.has('port') ? settings.integer('port', 8080, 1, 65_535) : undefined
  const address = settings.string('address', '127.0.0.1', '0.0.0.0')
  const token = settings.has('token') ? settings.string('token', null, `\${NODE_TOKEN}`) : undefined
  if (token !== undefined && port === undefined)
    settings.fail('token: it is for a port of its own (port); on the port of the API it is http.token', 'token')
  if (token !== undefined && token.length < 16) settings.fail('token: expected at least 16 characters', 'token')
  const waitConnected = settings.boolean('wait_connected', false)
  noMoreSettings(settings)
  return {
    format,
    destinations,
    port,
    address,
    token: token === undefined ? undefined : new Token(token),
    waitConnected,
  }
}

/** Connections with one format. */
class Channel {
  readonly peers = new Set<WebSocket>()
  readonly frames: FramesOut
  readonly receive: (bytes: Uint8Array) => void

  constructor(context: NodeContext, format: Format, counters: Counters, inbox: Inbox) {
    this.receive = inbox.channel(format)
    const binary = format.isBinary === true
    this.frames = new FramesOut(context, format, counters, {
      limit: frameLimit,
      send: (frame, count) => {
        const bytes = Buffer.from(frame)
        let sent = false
        for (const peer of this.peers) {
          if (peer.readyState !== WebSocket.OPEN) continue
          if (peer.bufferedAmount > mostBehind)
            counters.warn('dropped', `a peer is ${mostBehind >> 20} MiB behind: samples are lost`, count)
          else {
            peer.send(bytes, { binary })
            sent = true
          }
        }
        return sent
      },
    })
  }
}

class WebsocketNode implements RunningNode {
  readonly source: Inbox
  readonly destination: Destination
  readonly #context: NodeContext
  readonly #settings: WebsocketSettings
  readonly #counters: Counters
  readonly #channels = new Map<string, Channel>()
  readonly #alive = new WeakMap<WebSocket, boolean>()
  readonly #peers = new Set<WebSocket>()
  /** Destinations that it is connected to. */
  readonly #reached = new Set<string>()
  readonly #stops: (() => void)[] = []
  #server: Server | undefined
  #stopped = false

  constructor(context: NodeContext, settings: WebsocketSettings) {
    this.#context = context
    this.#settings = settings
    this.#counters = new Counters(context)
    this.source = new Inbox(context, settings.format, this.#counters)
    this.destination = {
      released: 0,
      write: (samples, count) => this.#write(samples, count),
    }
    const timer = setInterval(() => this.#heartbeat(), heartbeatMs)
    this.#stops.push(() => clearInterval(timer))
  }

  get state(): string {
    if (this.#stopped) return 'stopped'
    if (this.#peers.size > 0) return 'connected'
    return this.#settings.destinations.length > 0 ? 'pending connect' : 'started'
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  #write(samples: Int32Array, count: number): number {
    this.destination.released = count
    if (this.#peers.size === 0) {
      this.#counters.warn('not_connected', 'there is no connection: samples are lost', count)
      return 0
    }
    let taken = 0
    for (const { peers, frames } of this.#channels.values())
      if (peers.size > 0) taken = Math.max(taken, frames.write(samples, count))
    return taken
  }

  #add(peer: WebSocket, format: Format): void {
    const { name } = format
    let channel = this.#channels.get(name)
    if (channel === undefined) {
      channel = new Channel(this.#context, format, this.#counters, this.source)
      this.#channels.set(name, channel)
    }
    const { peers, receive } = channel
    peers.add(peer)
    this.#peers.add(peer)
    this.#alive.set(peer, true)
    this.#counters.add('connections')
    peer.on('pong', () => this.#alive.set(peer, true))
    peer.on('message', (data: RawData) => {
      if (!this.#stopped) receive(data as Buffer)
    })
    peer.on('error', (error) => this.#counters.warn('malformed', `a connection was ended: ${error.message}`))
    peer.on('close', () => {
      peers.delete(peer)
      this.#peers.delete(peer)
      this.#counters.add('disconnects')
    })
  }

  /** Ends connections from whose peers nothing was received since the last time. */
  #heartbeat(): void {
    for (const peer of this.#peers) {
      if (this.#alive.get(peer)) {
        this.#alive.set(peer, false)
        peer.ping()
      } else {
        this.#counters.warn(
          'silent',
          `a peer has not been heard of for ${heartbeatMs / 1000} s: its connection is ended`,
        )
        peer.terminate()
      }
    }
  }

  connect({ uri, format }: { uri: string; format: Format }): void {
    let failures = 0
    let current: WebSocket
    const backoff = new Backoff(() => attempt())
    const attempt = (): void => {
      const peer = new WebSocket(uri, subProtocol, {
        perMessageDeflate: false,
        maxPayload: mostBytes,
        handshakeTimeout: 10_000,
      })
      let connected = false
      current = peer
      peer.on('error', (error) => {
        if (!connected && failures++ === 0)
          this.#context.log('warn', `${uri} is not reached, trying again: ${error.message}`)
      })
      peer.on('open', () => {
        connected = true
        failures = 0
        backoff.reset()
        this.#context.log('info', `connected to ${uri}`)
        this.#reached.add(uri)
        this.#add(peer, format)
      })
      peer.on('close', () => {
        this.#reached.delete(uri)
        if (this.#stopped) return
        if (connected) this.#context.log('warn', `the connection to ${uri} has ended, connecting again`)
        backoff.schedule()
      })
    }
    this.#stops.push(() => {
      backoff.cancel()
      if (current.readyState === WebSocket.CONNECTING) current.terminate()
    })
    attempt()
  }

  /** Returns when it is connected to all destinations, or the gateway is to stop. */
  async connected(): Promise<void> {
    const wanted = new Set(this.#settings.destinations.map(({ uri }) => uri))
    const isOver = (): boolean => this.#reached.size === wanted.size || this.#context.isStopping?.() === true
    if (isOver()) return
    this.#context.log('info', 'it waits until all destinations are connected (wait_connected)')
    while (!isOver()) await delay(lookMs)
  }

  /** Takes connections that come to the port of the API. No other user of this machine has access to the folder. */
  async listenAtDoor(path: string): Promise<void> {
    const folder = dirname(path)
    mkdirSync(folder, { mode: 0o700 })
    this.#stops.push(() => rmSync(folder, { recursive: true, force: true }))
    await this.listen({ path })
  }

  async listen(where: ListenOptions): Promise<void> {
    const http = createServer((_request, response) => response.writeHead(404).end())
    const server = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload: mostBytes,
      handleProtocols: (offered) => offered.has(subProtocol) && subProtocol,
    })
    http.on('upgrade', (request, socket, head) => {
      const { url = '' } = request
      const isKnown = this.#settings.token === undefined || this.#hasToken(url, request.headers.authorization)
      const format = isKnown ? this.#formatOf(url) : undefined
      if (format === undefined || this.#peers.size >= mostPeers) {
        this.#counters.add('rejected')
        const status = !isKnown
          ? '401 Unauthorized'
          : format === undefined
            ? '404 Not Found'
            : '503 Service Unavailable'
        socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
        return
      }
      server.handleUpgrade(request, socket, head, (peer) => this.#add(peer, format))
    })
    http.listen(where)
    try {
      await once(http, 'listening')
    } catch (error) {
      throw new GatewayError('ERR_GATEWAY_NODE', (error as Error).message)
    }
    this.#server = http
  }

  /** True if a request has the token: as a header, or, where browsers and VILLASnode cannot send one, in the address. */
  #hasToken(url: string, authorization: string | undefined): boolean {
    const given = new URLSearchParams(url.split('?')[1] ?? '').get('token')
    const { token } = this.#settings
    return token!.isBearer(authorization) || (given !== null && token!.is(given))
  }

  /** Returns the format of "/node" or "/node.json"; undefined if there is none. */
  #formatOf(url: string): Format | undefined {
    const path = url.replace(/\?.*/, '').slice(1)
    const { name } = this.#context
    if (path === name) return this.#settings.format
    const format = path.slice(name.length + 1)
    return path.startsWith(`${name}.`) && formatNames.includes(format) ? formatWith(format, inMessages) : undefined
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const stop of this.#stops) stop()
    await Promise.all(
      [...this.#peers].map(async (peer) => {
        const timer = setTimeout(() => peer.terminate(), endMs)
        peer.close(1001)
        await once(peer, 'close')
        clearTimeout(timer)
      }),
    )
    this.#server?.close()
    this.#server?.closeAllConnections()
    this.source.stop()
  }
}

export const websocket: NodeType = {
  name: 'websocket',
  is: 'WebSockets, as client and server',
  parse(reader, common) {
    const settings = websocketSettings(reader)
    const start: ParsedNode['start'] = async (context, _, shared) => {
      const node = new WebsocketNode(context, settings)
      try {
        if (settings.port === undefined) await node.listenAtDoor(shared as string)
        else await node.listen({ port: settings.port, host: settings.address })
      } catch (error) {
        await node.stop()
        throw error
      }
      for (const destination of settings.destinations) node.connect(destination)
      if (settings.waitConnected) await node.connected()
      return node
    }
    return {
      ...inboxNode(common, start, { settings: reader, format: settings.format }),
      ...(settings.port === undefined && {
        share: () => join(tmpdir(), `verbena-${randomUUID()}`, 'websocket'),
        door: (shared) => shared as string,
      }),
    }
  },
}
