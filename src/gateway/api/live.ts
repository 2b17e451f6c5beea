/**
 * Live data: samples that pass a node, over a WebSocket at `/NODE` or `/NODE.FORMAT`, sub-protocol "live". A message has all samples of a
 * fiftieth of a second; of nodes that are faster than 12,800 samples a second, some are left out, as their sequence numbers show. A node of
 * type websocket takes such connections itself, for samples in both directions; with `?watch` it can be viewed nevertheless.
 */
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Refusal } from '../../web/serve/index.ts'
import { type Encoder, formatNames, formatOf, GatewayError, Samples, type Signal } from '../index.ts'
import type { SuperNode } from '../runtime/index.ts'

const periodMs = 20
const batch = 256
/** Bytes that may be buffered for a slow viewer; while there are more, samples are left out. */
const mostBufferedBytes = 1 << 20
const mostViewers = 64

export class LiveData {
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: 1 << 16,
    handleProtocols: (offered) => (offered.has('live') ? 'live' : false),
  })
  readonly #viewers = new Set<Viewer>()
  readonly #gateway: SuperNode
  readonly #ticker: NodeJS.Timeout

  constructor(gateway: SuperNode) {
    this.#gateway = gateway
    this.#ticker = setInterval(() => this.#tick(), periodMs)
    this.#ticker.unref()
  }

  /** Accepts a connection that requests a WebSocket, or returns the reason for a refusal. Throws if the address is not valid. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Refusal | null {
    const address = new URL(request.url ?? '/', 'http://localhost')
    const [node, format] = split(decodeURIComponent(address.pathname.slice(1)))
    const door = address.searchParams.has('watch') ? undefined : this.#gateway.door(node)
    const refusal = this.#whyNot(node, format, door !== undefined)
    if (refusal !== null) return refusal
    if (door !== undefined) {
      passOn(request, socket, head, door)
      return null
    }
    this.#server.handleUpgrade(request, socket, head, (client) => {
      const viewer = new Viewer(client, node, format, this.#gateway)
      this.#viewers.add(viewer)
      client.on('close', () => {
        viewer.leave()
        this.#viewers.delete(viewer)
      })
      // 'close' follows.
      client.on('error', () => {})
    })
    return null
  }

  #whyNot(node: string, format: string, isDoor: boolean): Refusal | null {
    if (!this.#gateway.config.nodes.some(({ name }) => name === node))
      return { status: 404, message: `there is no node '${node}'` }
    if (!formatNames.includes(format)) return { status: 404, message: `there is no format '${format}'` }
    // Connections of nodes are theirs, as soon as they run.
    if (!isDoor && ['parsed', 'starting'].includes(this.#gateway.state))
      return { status: 503, message: 'the gateway has not started yet' }
    if (this.#viewers.size >= mostViewers) return { status: 503, message: `there are ${mostViewers} viewers already` }
    return null
  }

  close(): void {
    clearInterval(this.#ticker)
    for (const viewer of this.#viewers) viewer.client.close(1001, 'the gateway stops')
    this.#server.close()
  }

  #tick(): void {
    for (const viewer of this.#viewers) viewer.send()
  }
}

class Viewer {
  readonly client: WebSocket
  readonly #node: string
  readonly #format: string
  readonly #gateway: SuperNode
  #seen = 0
  #watch: ReturnType<SuperNode['watch']>
  #samples = new Samples(batch, 1)
  #encoder: Encoder | null = null
  #isBinary = false
  #bytes = new Uint8Array(0)

  constructor(client: WebSocket, node: string, format: string, gateway: SuperNode) {
    this.client = client
    this.#node = node
    this.#format = format
    this.#gateway = gateway
    this.send()
  }

  send(): void {
    const now = this.#gateway.watch(this.#node)
    if (now?.watch !== this.#watch?.watch) this.#look(now)
    const encoder = this.#encoder
    if (now === undefined || encoder === null || this.client.bufferedAmount > mostBufferedBytes) return
    this.#seen = now.watch.copy(this.#seen, this.#samples)
    if (this.#samples.count === 0) return
    const { framing } = encoder
    let filled = this.#put(framing?.open, 0)
    for (let i = 0; i < this.#samples.count; i++) {
      if (i > 0) filled = this.#put(framing?.between, filled)
      filled = encoder.encode(this.#samples, i, this.#bytes, filled)
    }
    filled = this.#put(framing?.close, filled)
    // A copy: ws may keep it for a while.
    this.client.send(this.#bytes.slice(0, filled), { binary: this.#isBinary })
  }

  #put(bytes: Uint8Array | undefined, at: number): number {
    if (bytes === undefined) return at
    this.#bytes.set(bytes, at)
    return at + bytes.length
  }

  leave(): void {
    this.#watch?.watch.view(-1)
    this.#watch = undefined
  }

  /** Attaches to the node, which is in another thread now, perhaps with other signals, or does not run. */
  #look(now: ReturnType<SuperNode['watch']>): void {
    this.leave()
    this.#encoder = null
    if (now === undefined) return
    const { watch, signals } = now
    const encoder = this.#encoderOf(signals)
    if (encoder === null) return
    watch.view(1)
    this.#watch = now
    this.#seen = watch.seen
    this.#samples = new Samples(batch, signals.length)
    this.#encoder = encoder
    this.#bytes = new Uint8Array(encoder.bound * batch)
  }

  #encoderOf(signals: readonly Signal[]): Encoder | null {
    try {
      const format = formatOf(this.#format, true)
      this.#isBinary = format.isBinary === true
      return format.encoder(signals)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      // A close reason has at most 123 bytes.
      this.client.close(1008, error.message.slice(0, 100))
      return null
    }
  }
}

/** Splits "node.csv" into node and format; names of nodes have no dot. */
function split(path: string): [string, string] {
  const at = path.indexOf('.')
  return at < 0 ? [path, 'villas.web'] : [path.slice(0, at), path.slice(at + 1)]
}

/** Passes a connection on to a node, with the bytes received so far. */
function passOn(request: IncomingMessage, socket: Duplex, head: Buffer, door: string): void {
  const node = connect(door)
  const end = (): void => {
    node.destroy()
    socket.destroy()
  }
  node.on('error', end)
  node.on('close', end)
  socket.on('close', end)
  const { rawHeaders } = request
  const lines = [`GET ${request.url!.replace(/\?.*/, '')} HTTP/1.1`]
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!/^authorization$/i.test(rawHeaders[i]!)) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  node.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  node.write(head)
  socket.pipe(node)
  node.pipe(socket)
}
