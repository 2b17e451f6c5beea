/**
 * Redis, through the client ioredis: samples in messages of a channel, in a key, or with a field of a hash for each signal. A key and a
 * hash have the latest samples only; earlier ones may be overwritten before they are read.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis, RedisOptions } from 'ioredis'
import { peerPackage } from '../../host/index.ts'
import {
  type Destination,
  type Format,
  type NodeContext,
  type NodeType,
  type ParsedNode,
  type RunningNode,
  SampleField,
  SampleFlag,
  type Samples,
  type SettingsReader,
  type Signal,
} from '../../index.ts'
import { Counters } from '../kit/counters.ts'
import { FramesOut } from '../kit/frames-out.ts'
import { Inbox } from '../kit/inbox.ts'
import { inboxNode } from '../kit/inbox-node.ts'
import { formatSetting, inMessages, noMoreSettings } from '../kit/settings.ts'
import { readField, writeField } from './fields.ts'

interface RedisSettings {
  readonly mode: 'key' | 'hash' | 'channel'
  readonly format: Format
  /** Key or channel. */
  readonly name: string
  readonly notify: boolean
  readonly rate: number
  readonly options: RedisOptions
}

const frameLimit = 1 << 18
/** Maximum number of commands without an answer; beyond it, samples are lost. */
const mostInFlight = 1024

const modes = {
  key: 'key',
  'set-get': 'key',
  hash: 'hash',
  'hset-hget': 'hash',
  channel: 'channel',
  'pub-sub': 'channel',
} as const
const modeNames = Object.keys(modes) as (keyof typeof modes)[]

function redisSettings(settings: SettingsReader, nodeName: string): RedisSettings {
  const mode = modes[settings.choice('mode', 'key', modeNames)]
  const key = settings.string('key', nodeName, 'my_key')
  const channel = settings.string('channel', nodeName, 'my_channel')
  const result = {
    mode,
    format: formatSetting(settings, 'json', inMessages),
    name: mode === 'channel' ? channel : key,
    notify: settings.boolean('notify', true),
    rate: settings.number('rate', 1, 0.001, 1000),
    options: connectionOptions(settings),
  }
  noMoreSettings(settings)
  return result
}

function connectionOptions(settings: SettingsReader): RedisOptions {
  const options: RedisOptions = settings.has('uri') ? uriOptions(settings) : {}
  const optional = (key: string, example: string): string | undefined =>
    settings.has(key) ? settings.string(key, null, example) : undefined
  const host = optional('host', 'localhost')
  const path = optional('path', '/run/redis.sock')
  const username = optional('user', 'guest')
  const password = optional('password', 'secret')
  if ((host ?? options.host) !== undefined && (path ?? options.path) !== undefined)
    settings.fail('host and path exclude each other: a server is reached by TCP or by a UNIX socket', 'path')
  const timeout = settings.group('timeout')
  const connect = timeout.number('connect', 10, 0.001, 3600)
  const socket = timeout.has('socket') ? timeout.number('socket', 1, 0.001, 3600) : undefined
  timeout.done()
  const tls = settings.has('ssl') ? sslOptions(settings.group('ssl')) : undefined
  return {
    ...options,
    ...(host !== undefined && { host }),
    ...(settings.has('port') && { port: settings.integer('port', 6379, 1, 65_535) }),
    ...(path !== undefined && { path }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(settings.has('db') && { db: settings.integer('db', 0, 0, 65_535) }),
    ...(tls && { tls }),
    ...(socket !== undefined && { commandTimeout: socket * 1000 }),
    connectTimeout: connect * 1000,
    keepAlive: settings.boolean('keepalive', false) ? 1000 : -1,
  }
}

/** Reads "tcp://[[user:]password@]host[:port][/db]", "unix://[[user:]password@]path[/db]"; also redis:// and rediss://. */
function uriOptions(settings: SettingsReader): RedisOptions {
  const text = settings.string('uri', null, 'tcp://localhost:6379/0')
  const parts = /^(tcp|redis|rediss|unix):\/\/(?:(?:([^:@/]*):)?([^@/]*)@)?(.*?)(?:\/(\d+))?$/.exec(text)
  const [, scheme, user, password, place, db] = parts ?? []
  const [, six, host, port] = /^(?:\[([^\]]+)\]|([^:/]+))(?::(\d+))?$/.exec(place ?? '') ?? []
  if (parts === null || (scheme === 'unix' ? !place!.startsWith('/') : (six ?? host) === undefined))
    settings.refuse('uri', 'tcp://[[USER:]PASSWORD@]HOST[:PORT][/DB] or unix://PATH[/DB]', '"tcp://localhost:6379/0"')
  return {
    ...(scheme === 'unix' ? { path: place! } : { host: six ?? host!, port: Number(port ?? 6379) }),
    ...(user && { username: decodeURIComponent(user) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(db !== undefined && { db: Number(db) }),
    ...(scheme === 'rediss' && { tls: {} }),
  }
}

function sslOptions(group: SettingsReader): RedisOptions['tls'] {
  const [cacert, cacertdir] = [group.string('cacert', '', 'ca.crt'), group.string('cacertdir', '', '/etc/ssl/certs')]
  const [cert, key] = [group.string('cert', '', 'my.crt'), group.string('key', '', 'my.key')]
  const enabled = group.boolean('enabled', true)
  group.done()
  if (!enabled) return undefined
  try {
    const ca = [
      ...(cacert ? [readFileSync(cacert)] : []),
      ...(cacertdir ? readdirSync(cacertdir).map((name) => readFileSync(join(cacertdir, name))) : []),
    ]
    return {
      ...(ca.length > 0 && { ca }),
      ...(cert && { cert: readFileSync(cert) }),
      ...(key && { key: readFileSync(key) }),
    }
  } catch (error) {
    group.fail((error as Error).message)
  }
}

class RedisNode implements RunningNode {
  readonly source: Inbox | null
  readonly destination: Destination | null
  readonly #context: NodeContext
  readonly #settings: RedisSettings
  readonly #counters: Counters
  readonly #commands: Redis
  readonly #subscriber: Redis | undefined
  #timer: NodeJS.Timeout | undefined
  #inFlight = 0
  /** Flags: a value is being fetched; it has changed since. */
  #fetching = false
  #changed = false
  #subscribed: boolean
  #stopped = false

  constructor(
    context: NodeContext,
    settings: RedisSettings,
    open: (options: RedisOptions) => Redis,
    directions: { in: boolean; out: boolean },
  ) {
    const { mode, format, notify, rate } = settings
    this.#context = context
    this.#settings = settings
    this.#counters = new Counters(context)
    this.source = directions.in ? new Inbox(context, format, this.#counters) : null
    this.destination = directions.out ? this.#makeDestination() : null
    const subscribes = directions.in && (notify || mode === 'channel')
    this.#subscribed = !subscribes
    this.#commands = this.#open(open, 'commands')
    if (subscribes) this.#subscriber = this.#subscribe(open)
    else if (directions.in) this.#timer = setInterval(() => void this.#fetch(), 1000 / rate)
  }

  get state(): string {
    if (this.#stopped) return 'stopped'
    return this.#commands.status === 'ready' && this.#subscribed ? 'connected' : 'pending connect'
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  #open(open: (options: RedisOptions) => Redis, what: string): Redis {
    const { options } = this.#settings
    const where = options.path ?? `${options.host ?? 'localhost'}:${options.port ?? 6379}`
    const client = open({
      ...options,
      enableOfflineQueue: false,
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(100 * 2 ** (times - 1), 10_000),
    })
    let connected = false
    let failures = 0
    client.on('error', (error: Error) => {
      if (failures++ === 0)
        this.#context.log('warn', `${where}: ${error.message || (error as NodeJS.ErrnoException).code}; trying again`)
    })
    client.on('ready', () => {
      connected = true
      failures = 0
      if (what === 'commands') {
        this.#counters.add('connections')
        this.#context.log('info', `connected to ${where}`)
      }
    })
    client.on('close', () => {
      if (connected && !this.#stopped && what === 'commands') {
        this.#counters.add('disconnects')
        this.#context.log('warn', `the connection to ${where} has ended, connecting again`)
      }
      connected = false
    })
    return client
  }

  #subscribe(open: (options: RedisOptions) => Redis): Redis {
    const { mode, name, options } = this.#settings
    const client = this.#open(open, 'subscriber')
    const channel = mode === 'channel' ? name : `__keyspace@${options.db ?? 0}__:${name}`
    client.on('ready', async () => {
      try {
        if (mode !== 'channel') await this.#turnOnNotifications(client)
        await client.subscribe(channel)
        this.#subscribed = true
      } catch (error) {
        if (!this.#stopped)
          this.#counters.warn('subscribe_failed', `${channel} is not to be had: ${(error as Error).message}`)
      }
    })
    client.on('close', () => {
      this.#subscribed = false
    })
    client.on('messageBuffer', (_channel: Buffer, message: Buffer) => {
      if (this.#stopped) return
      if (mode === 'channel') this.source!.message(message)
      else void this.#fetch()
    })
    return client
  }

  /** Adds the missing ones to the events that the server sends: K keyspace, $ strings, h hashes. */
  async #turnOnNotifications(client: Redis): Promise<void> {
    const [, flags = ''] = (await client.config('GET', 'notify-keyspace-events')) as string[]
    const missing = [...'K$h'].filter((flag) => !flags.includes(flag) && !(flag !== 'K' && flags.includes('A')))
    if (missing.length > 0) await client.config('SET', 'notify-keyspace-events', flags + missing.join(''))
  }

  /** Reads the key or the hash; one request at a time, since the latest value is what counts. */
  async #fetch(): Promise<void> {
    if (this.#commands.status !== 'ready') {
      this.#counters.add('not_connected')
      return
    }
    if (this.#fetching) {
      if (this.#changed) this.#counters.add('overwritten')
      this.#changed = true
      return
    }
    this.#fetching = true
    do {
      this.#changed = false
      try {
        const { mode, name } = this.#settings
        if (mode === 'key') {
          const value = await this.#commands.getBuffer(name)
          if (value !== null && !this.#stopped) this.source!.message(value)
        } else {
          const fields = await this.#commands.hgetall(name)
          if (Object.keys(fields).length > 0 && !this.#stopped)
            this.source!.put((samples, word) => this.#read(fields, samples, word))
        }
      } catch (error) {
        if (!this.#stopped) this.#counters.warn('receive_failed', `nothing can be read: ${(error as Error).message}`)
      }
    } while (this.#changed && !this.#stopped)
    this.#fetching = false
  }

  /** Reads a sample up to the last signal that the hash has; the other ones are 0. */
  #read(fields: Readonly<Record<string, string>>, samples: Samples, word: number): void {
    const signals = this.#context.signals.in
    samples.clear(word)
    let length = 0
    signals.forEach(({ name, type }, i) => {
      const at = word + SampleField.data + 2 * i
      samples.setInt64(at, 0)
      const text = fields[name]
      if (text === undefined) return
      if (readField(samples, at, type, text)) length = i + 1
      else this.#counters.warn('malformed', `the field ${name} is malformed: ${JSON.stringify(text)}`)
    })
    samples.u32[word + SampleField.length] = length
    samples.u32[word + SampleField.flags] = SampleFlag.data | SampleFlag.tsReceived
    this.#context.clock.stamp(word + SampleField.received)
  }

  #makeDestination(): Destination {
    const { mode, format, name } = this.#settings
    if (mode === 'hash') {
      const destination: Destination = {
        released: 0,
        write: (samples, count) => {
          destination.released = count
          const fields = this.#fields(samples[count - 1]!, this.#context.signals.out)
          return this.#run(count, () => this.#commands.hset(name, fields)) ? count : 0
        },
      }
      return destination
    }
    const send = (frame: Uint8Array, count: number): boolean => {
      const bytes = Buffer.from(frame)
      return this.#run(count, () =>
        mode === 'key' ? this.#commands.set(name, bytes) : this.#commands.publish(name, bytes),
      )
    }
    // As in VILLASnode, a message has one sample; a key has those that were written together.
    const options = mode === 'channel' ? { samples: 1 } : {}
    return new FramesOut(this.#context, format, this.#counters, { limit: frameLimit, send, ...options })
  }

  #fields(index: number, signals: readonly Signal[]): Record<string, string> {
    const { samples } = this.#context.pool
    const word = samples.word(index)
    const length = samples.u32[word + SampleField.length]!
    const entries = signals
      .slice(0, length)
      .map(({ name, type }, i) => [name, writeField(samples, word + SampleField.data + 2 * i, type)])
    return Object.fromEntries(entries)
  }

  #run(count: number, command: () => Promise<unknown>): boolean {
    if (this.#commands.status !== 'ready') {
      this.#counters.warn('not_connected', 'there is no connection: samples are lost', count)
      return false
    }
    if (this.#inFlight >= mostInFlight) {
      this.#counters.warn('dropped', `the server is ${mostInFlight} commands behind: samples are lost`, count)
      return false
    }
    this.#inFlight++
    void command()
      .catch((error: Error) => this.#counters.warn('send_failed', `samples are lost: ${error.message}`, count))
      .finally(() => this.#inFlight--)
    return true
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    for (const client of [this.#subscriber, this.#commands]) {
      if (client?.status === 'ready') {
        // QUIT is answered after all that was sent before.
        const timer = setTimeout(() => client.disconnect(), 1000)
        await client.quit().catch(() => {})
        clearTimeout(timer)
      }
      client?.disconnect()
    }
    this.source?.stop()
  }
}

export const redis: NodeType = {
  name: 'redis',
  is: 'a server of Redis: channels, keys, hashes',
  parse(reader, common) {
    const settings = redisSettings(reader, common.name)
    const needs = () => peerPackage('the node-type redis', 'ioredis@5', () => import('ioredis'))
    const start: ParsedNode['start'] = async (context, directions) => {
      const { Redis: Client } = await needs()
      return new RedisNode(context, settings, (options) => new Client(options), directions)
    }
    return inboxNode(common, start, { settings: reader, format: settings.format, needs })
  },
}
