/**
 * ZeroMQ, through the package zeromq: PUB and SUB, or RADIO and DISH. A message is a frame of samples; with a filter, its envelope
 * (or its group) comes first. libzmq connects again by itself.
 */
import type * as Zmq from 'zeromq'
import type * as Draft from 'zeromq/draft.js'
import { peerPackage } from '../host/index.ts'
import type { Format, NodeContext, NodeType, ParsedNode, RunningNode, SettingsReader } from '../index.ts'
import { Counters } from './kit/counters.ts'
import { FramesOut } from './kit/frames-out.ts'
import { Inbox } from './kit/inbox.ts'
import { inboxNode } from './kit/inbox-node.ts'
import { formatSetting, inMessages } from './kit/settings.ts'

interface Direction {
  readonly endpoints: readonly string[]
  readonly filter: string
  readonly bind: boolean
}

interface ZeromqSettings {
  readonly format: Format
  readonly radiodish: boolean
  readonly ipv6: boolean
  readonly curve: { readonly publicKey: string; readonly secretKey: string } | undefined
  readonly in: Direction
  readonly out: Direction
}

type Out = Zmq.Publisher | Draft.Radio
type In = Zmq.Subscriber | Draft.Dish

const frameLimit = 1 << 18
/** Maximum number of messages that wait for their turn; beyond it, samples are lost. */
const mostWaiting = 1024
const lingerMs = 1000

function zeromqSettings(settings: SettingsReader): ZeromqSettings {
  const radiodish = settings.choice('pattern', 'pubsub', ['pubsub', 'radiodish']) === 'radiodish'
  const direction = (name: 'in' | 'out', key: string, bind: boolean): Direction => {
    const group = settings.group(name)
    const endpoints = group.strings(key, [], 'tcp://localhost:1234')
    for (const endpoint of endpoints)
      if (!/^(tcp|ipc|inproc|udp|pgm|epgm|vmci|ws):\/\/.+/.test(endpoint))
        group.refuse(key, 'endpoints of ZeroMQ, such as tcp://HOST:PORT or ipc://PATH', '["tcp://localhost:1234"]')
    const result = { endpoints, filter: group.string('filter', '', 'ab184'), bind: group.boolean('bind', bind) }
    group.done()
    return result
  }
  const result = {
    format: formatSetting(settings, 'villas.binary', inMessages),
    radiodish,
    ipv6: settings.boolean('ipv6', false),
    curve: settings.has('curve') ? curveSettings(settings.group('curve')) : undefined,
    in: direction('in', 'subscribe', false),
    out: direction('out', 'publish', true),
  }
  settings.done()
  if (result.in.endpoints.length === 0 && result.out.endpoints.length === 0)
    settings.fail(
      'in.subscribe and out.publish are missing: it needs an endpoint, for example in = { subscribe = "tcp://localhost:1234" }',
    )
  if (radiodish && result.curve)
    settings.fail('curve: RADIO and DISH do not encrypt; choose the pattern pubsub', 'curve')
  return result
}

function curveSettings(group: SettingsReader): ZeromqSettings['curve'] {
  const key = (name: string): string => {
    const text = group.string(name, null, 'Veg+Q.V-c&1k>yVh663gQ^7fL($y47gybE-nZP1L')
    if (text.length !== 40)
      group.refuse(name, 'a key of 40 characters (Z85)', '"Veg+Q.V-c&1k>yVh663gQ^7fL($y47gybE-nZP1L"')
    return text
  }
  const publicKey = key('public_key')
  // VILLASnode's documentation calls it private_key, its code secret_key.
  const secretKey = group.has('private_key') ? key('private_key') : key('secret_key')
  const enabled = group.boolean('enabled', true)
  group.done()
  return enabled ? { publicKey, secretKey } : undefined
}

class ZeromqNode implements RunningNode {
  readonly source: Inbox | null
  readonly destination: FramesOut | null
  readonly #context: NodeContext
  readonly #settings: ZeromqSettings
  readonly #counters: Counters
  readonly #zmq: typeof Zmq
  readonly #draft: typeof Draft | undefined
  #in: In | undefined
  #out: Out | undefined
  readonly #waiting: { bytes: Buffer; count: number }[] = []
  #sending: Promise<void> | undefined
  #receiving: Promise<void> | undefined
  #connections = 0
  #stopped = false

  constructor(context: NodeContext, settings: ZeromqSettings, zmq: typeof Zmq, draft: typeof Draft | undefined) {
    this.#context = context
    this.#settings = settings
    this.#zmq = zmq
    this.#draft = draft
    this.#counters = new Counters(context)
    this.source = settings.in.endpoints.length > 0 ? new Inbox(context, settings.format, this.#counters) : null
    const send = (frame: Uint8Array, count: number): boolean => this.#queue(frame, count)
    this.destination =
      settings.out.endpoints.length > 0
        ? new FramesOut(context, settings.format, this.#counters, { limit: frameLimit, send })
        : null
  }

  get state(): string {
    if (this.#stopped) return 'stopped'
    return this.#connections > 0 ? 'connected' : 'started'
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  /** Binds and connects. Throws ZeroMQ's error about an endpoint. */
  async start(): Promise<void> {
    const { in: input, out, radiodish, curve, ipv6 } = this.#settings
    const common = { ipv6, linger: lingerMs, reconnectInterval: 100, reconnectMaxInterval: 10_000 }
    if (this.destination) {
      // With noDrop and no time to wait a full queue is an error, and counted, where ZeroMQ would drop in silence.
      const options = {
        ...common,
        sendTimeout: 0,
        ...(curve && { curveServer: true, curveSecretKey: curve.secretKey }),
      }
      this.#out = radiodish ? new this.#draft!.Radio(options) : new this.#zmq.Publisher({ ...options, noDrop: true })
      await this.#open(this.#out, out)
    }
    if (this.source) {
      const own = curve && this.#zmq.curveKeyPair()
      const options = {
        ...common,
        ...(own && { curveServerKey: curve.publicKey, curvePublicKey: own.publicKey, curveSecretKey: own.secretKey }),
      }
      if (radiodish) {
        const dish = new this.#draft!.Dish(options)
        dish.join(input.filter)
        this.#in = dish
      } else {
        const subscriber = new this.#zmq.Subscriber(options)
        subscriber.subscribe(input.filter)
        this.#in = subscriber
      }
      await this.#open(this.#in, input)
      this.#receiving = this.#receive(this.#in)
    }
  }

  async #open(socket: In | Out, { endpoints, bind }: Direction): Promise<void> {
    const up = (): void => {
      this.#connections++
      this.#counters.add('connections')
    }
    socket.events.on(bind ? 'accept' : 'connect', up)
    socket.events.on('disconnect', () => {
      this.#connections--
      this.#counters.add('disconnects')
      if (!this.#stopped) this.#context.log('info', 'a connection has ended')
    })
    socket.events.on('handshake:error:auth', () => this.#counters.warn('rejected', 'a peer has the wrong keys'))
    socket.events.on('handshake:error:protocol', () =>
      this.#counters.warn('rejected', 'a peer does not speak as expected: are both ends encrypted?'),
    )
    for (const endpoint of endpoints) {
      if (bind) await socket.bind(endpoint)
      else socket.connect(endpoint)
    }
  }

  async #receive(socket: In): Promise<void> {
    try {
      // With a filter the envelope comes first, and a DISH appends its group.
      for await (const parts of socket) {
        if (this.#stopped) break
        const { radiodish } = this.#settings
        this.source!.message((radiodish ? parts[0] : parts.at(-1)) as Buffer)
      }
    } catch (error) {
      if (!this.#stopped) this.#context.fail(error as Error)
    }
  }

  #queue(frame: Uint8Array, count: number): boolean {
    if (this.#waiting.length >= mostWaiting) {
      this.#counters.warn('dropped', `${mostWaiting} messages wait to be sent: samples are lost`, count)
      return false
    }
    this.#waiting.push({ bytes: Buffer.from(frame), count })
    this.#sending ??= this.#send()
    return true
  }

  /** Sends the messages that wait: a socket sends one at a time. */
  async #send(): Promise<void> {
    const { filter } = this.#settings.out
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { bytes, count } = next
      try {
        if (this.#settings.radiodish) await (this.#out as Draft.Radio).send(bytes, { group: filter })
        else await (this.#out as Zmq.Publisher).send(filter === '' ? bytes : [filter, bytes])
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        if (code === 'EAGAIN') this.#counters.warn('dropped', 'a subscriber does not keep up: samples are lost', count)
        else this.#counters.warn('send_failed', `samples are lost: ${message}`, count)
      }
    }
    this.#sending = undefined
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#sending
    this.#out?.close()
    this.#in?.close()
    await this.#receiving
    this.source?.stop()
  }
}

export const zeromq: NodeType = {
  name: 'zeromq',
  is: 'ZeroMQ: PUB and SUB, RADIO and DISH',
  parse(reader, common) {
    const settings = zeromqSettings(reader)
    const needs = () => peerPackage('the node-type zeromq', 'zeromq@6', () => import('zeromq'))
    const start: ParsedNode['start'] = async (context) => {
      const zmq = await needs()
      const draft = settings.radiodish ? await import('zeromq/draft.js') : undefined
      const node = new ZeromqNode(context, settings, zmq, draft)
      try {
        await node.start()
      } catch (error) {
        await node.stop()
        throw error
      }
      return node
    }
    const [reads, writes] = [settings.in, settings.out].map(({ endpoints }) => endpoints.length > 0)
    return inboxNode(common, start, {
      settings: reader,
      format: settings.format,
      reads: reads!,
      writes: writes!,
      needs,
    })
  },
}
