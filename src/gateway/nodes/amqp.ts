/**
 * AMQP 0-9-1 (RabbitMQ), through the client amqplib: messages of an exchange of type direct, to and from a routing key. Messages that the
 * broker has not confirmed when a connection ends are counted as lost.
 */
import { readFileSync } from 'node:fs'
import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib'
import { peerPackage } from '../host/index.ts'
import type { Format, NodeContext, NodeType, ParsedNode, RunningNode, SettingsReader } from '../index.ts'
import { Backoff } from './kit/backoff.ts'
import { Counters } from './kit/counters.ts'
import { FramesOut } from './kit/frames-out.ts'
import { Inbox } from './kit/inbox.ts'
import { inboxNode } from './kit/inbox-node.ts'
import { formatSetting, inMessages, noMoreSettings } from './kit/settings.ts'

interface AmqpSettings {
  readonly format: Format
  readonly uri: string
  readonly exchange: string
  readonly routingKey: string
  /** Options of the socket: TLS. */
  readonly socket: Readonly<Record<string, unknown>>
}

type Connect = (uri: string, options: Readonly<Record<string, unknown>>) => Promise<ChannelModel>

const frameLimit = 1 << 18
/** Maximum number of messages that the broker has not confirmed; beyond it, samples are lost. */
const mostInFlight = 1024
const connectMs = 10_000

function amqpSettings(settings: SettingsReader): AmqpSettings {
  const ssl = settings.has('ssl') ? settings.group('ssl') : undefined
  const part = (key: string, fallback: string): string => encodeURIComponent(settings.string(key, fallback, fallback))
  const user = `${part('username', 'guest')}:${part('password', 'guest')}`
  const vhost = part('vhost', '/')
  const host = settings.string('host', 'localhost', 'localhost')
  const port = settings.integer('port', ssl ? 5671 : 5672, 1, 65_535)
  const uri = settings.string(
    'uri',
    `amqp${ssl ? 's' : ''}://${user}@${host}:${port}/${vhost}`,
    'amqp://guest:guest@localhost/',
  )
  if (!/^amqps?:\/\/[^/]+/.test(uri) || !URL.canParse(uri))
    settings.refuse('uri', 'a URI of AMQP: amqp://USER:PASSWORD@HOST:PORT/VHOST', '"amqp://guest:guest@localhost/"')
  const result = {
    format: formatSetting(settings, 'json', inMessages),
    uri,
    exchange: settings.string('exchange', null, 'villas'),
    routingKey: settings.string('routing_key', null, 'substation'),
    socket: ssl ? sslOptions(ssl) : {},
  }
  noMoreSettings(settings)
  return result
}

function sslOptions(group: SettingsReader): Readonly<Record<string, unknown>> {
  const verifyPeer = group.boolean('verify_peer', true)
  const verifyHost = group.boolean('verify_hostname', true)
  const files = [
    ['ca', 'ca_cert', 'ca.crt'],
    ['cert', 'client_cert', 'my.crt'],
    ['key', 'client_key', 'my.key'],
  ] as const
  const read = files.flatMap(([name, key, example]) => {
    const file = group.string(key, '', example)
    return file === '' ? [] : [[name, contentOf(group, key, file)]]
  })
  group.done()
  return {
    ...Object.fromEntries(read),
    rejectUnauthorized: verifyPeer,
    ...(!verifyHost && { checkServerIdentity: () => undefined }),
  }
}

function contentOf(group: SettingsReader, key: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    group.fail(`${group.of}.${key}: ${file} cannot be read: ${(error as Error).message}`, key)
  }
}

class AmqpNode implements RunningNode {
  readonly source: Inbox | null
  readonly destination: FramesOut | null
  state = 'started'
  readonly #context: NodeContext
  readonly #settings: AmqpSettings
  readonly #counters: Counters
  readonly #connect: Connect
  readonly #backoff: Backoff
  #connection: ChannelModel | undefined
  #channel: ConfirmChannel | undefined
  #attempt: Promise<void>
  #inFlight = 0
  #failures = 0
  #stopped = false

  constructor(
    context: NodeContext,
    settings: AmqpSettings,
    connect: Connect,
    directions: { in: boolean; out: boolean },
  ) {
    const { format } = settings
    this.#context = context
    this.#settings = settings
    this.#connect = connect
    this.#counters = new Counters(context)
    this.source = directions.in ? new Inbox(context, format, this.#counters) : null
    const send = (frame: Uint8Array, count: number): boolean => this.#send(frame, count)
    this.destination = directions.out
      ? new FramesOut(context, format, this.#counters, { limit: frameLimit, send })
      : null
    this.#backoff = new Backoff(() => {
      this.#attempt = this.#open()
    })
    this.#attempt = this.#open()
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  async #open(): Promise<void> {
    const { uri, socket, exchange } = this.#settings
    const where = new URL(uri).host
    this.state = 'pending connect'
    let connection: ChannelModel | undefined
    try {
      connection = await this.#connect(uri, { ...socket, timeout: connectMs, noDelay: true })
      const opened = connection
      let why = ''
      connection.on('error', (error) => {
        why = `: ${error.message}`
      })
      connection.on('close', () => this.#closed(opened, where, why))
      this.#connection = connection
      const channel = await connection.createConfirmChannel()
      channel.on('error', (error) => {
        why = `: ${error.message}`
      })
      // A channel that the broker has closed cannot be used any more.
      channel.on('close', () => void opened.close().catch(() => {}))
      await channel.assertExchange(exchange, 'direct', { durable: false })
      if (this.source) await this.#consume(channel)
      this.#channel = channel
      this.#failures = 0
      this.#backoff.reset()
      this.state = 'connected'
      this.#counters.add('connections')
      this.#context.log('info', `connected to ${where}`)
    } catch (error) {
      if (this.#stopped) return
      if (this.#failures++ === 0) this.#context.log('warn', `${where}: ${(error as Error).message}; trying again`)
      connection?.close().catch(() => {})
      this.#backoff.schedule()
    }
  }

  /** Consumes messages, which come to a queue of this connection, which ends with it. */
  async #consume(channel: Channel): Promise<void> {
    const { exchange, routingKey } = this.#settings
    const { queue } = await channel.assertQueue('', { exclusive: true, durable: false, autoDelete: true })
    await channel.bindQueue(queue, exchange, routingKey)
    await channel.consume(
      queue,
      (message) => message !== null && !this.#stopped && this.source!.message(message.content),
      { noAck: true },
    )
  }

  #closed(connection: ChannelModel, where: string, why: string): void {
    if (this.#stopped || this.#connection !== connection) return
    const wasOpen = this.#channel !== undefined
    this.#connection = this.#channel = undefined
    this.state = 'pending connect'
    if (wasOpen) {
      this.#counters.add('disconnects')
      this.#context.log('warn', `the connection to ${where} has ended${why}, connecting again`)
    }
    this.#backoff.schedule()
  }

  #send(frame: Uint8Array, count: number): boolean {
    const channel = this.#channel
    if (channel === undefined) {
      this.#counters.warn('not_connected', 'there is no connection: samples are lost', count)
      return false
    }
    if (this.#inFlight >= mostInFlight) {
      this.#counters.warn('dropped', `the broker is ${mostInFlight} messages behind: samples are lost`, count)
      return false
    }
    this.#inFlight++
    const { exchange, routingKey } = this.#settings
    try {
      channel.publish(exchange, routingKey, Buffer.from(frame), {}, (error: Error | null) => {
        this.#inFlight--
        if (error) this.#counters.warn('send_failed', `samples are lost: ${error.message}`, count)
      })
      return true
    } catch (error) {
      this.#inFlight--
      this.#counters.warn('not_connected', `samples are lost: ${(error as Error).message}`, count)
      return false
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#backoff.cancel()
    await this.#attempt
    if (this.#channel !== undefined) {
      const timer = new Promise((done) => setTimeout(done, 1000).unref())
      await Promise.race([this.#channel.waitForConfirms().catch(() => {}), timer])
    }
    await this.#connection?.close().catch(() => {})
    this.source?.stop()
    this.state = 'stopped'
  }
}

export const amqp: NodeType = {
  name: 'amqp',
  is: 'a broker of AMQP 0-9-1, such as RabbitMQ',
  parse(reader, common) {
    const settings = amqpSettings(reader)
    const needs = () => peerPackage('the node-type amqp', 'amqplib@2', () => import('amqplib'))
    const start: ParsedNode['start'] = async (context, directions) => {
      const { connect } = await needs()
      return new AmqpNode(context, settings, connect as Connect, directions)
    }
    return inboxNode(common, start, { settings: reader, format: settings.format, needs })
  },
}
