/** MQTT, through the client mqtt.js. A message is a frame of samples. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SecureVersion } from 'node:tls'
import type { IClientOptions, MqttClient } from 'mqtt'
import { peerPackage } from '../host/index.ts'
import type { Format, NodeContext, NodeType, ParsedNode, RunningNode, SettingsReader } from '../index.ts'
import { Backoff } from './kit/backoff.ts'
import { Counters } from './kit/counters.ts'
import { FramesOut } from './kit/frames-out.ts'
import { Inbox } from './kit/inbox.ts'
import { inboxNode } from './kit/inbox-node.ts'
import { formatSetting, inMessages } from './kit/settings.ts'

interface MqttSettings {
  readonly host: string
  readonly port: number
  readonly format: Format
  readonly subscribe: string | undefined
  readonly publish: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
  readonly keepalive: number
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  readonly ssl: SslSettings | undefined
}

interface SslSettings {
  readonly insecure: boolean
  readonly verify: boolean
  readonly cafile: string
  readonly capath: string
  readonly certfile: string
  readonly keyfile: string
  readonly cipher: string
  readonly version: string
}

const frameLimit = 1 << 18
/** Maximum number of messages that the broker has not acknowledged, or the connection not taken; beyond it, samples are lost. */
const mostInFlight = 1024

function mqttSettings(settings: SettingsReader): MqttSettings {
  const input = settings.group('in')
  const output = settings.group('out')
  const optional = (group: SettingsReader, key: string, example: string): string | undefined =>
    group.has(key) ? group.string(key, null, example) : undefined
  const ssl = settings.has('ssl') ? sslSettings(settings.group('ssl')) : undefined
  const result = {
    host: settings.string('host', null, 'localhost'),
    port: settings.integer('port', ssl ? 8883 : 1883, 1, 65_535),
    format: formatSetting(settings, 'json', inMessages),
    subscribe: optional(input, 'subscribe', 'substation/#'),
    publish: optional(output, 'publish', 'substation/1'),
    username: optional(settings, 'username', 'guest'),
    password: optional(settings, 'password', 'guest'),
    keepalive: settings.integer('keepalive', 5, 0, 65_535),
    qos: settings.choice('qos', 0, [0, 1, 2]),
    retain: settings.boolean('retain', false),
    ssl,
  }
  input.done()
  output.done()
  settings.done()
  const { subscribe, publish, username, password } = result
  if (subscribe === undefined && publish === undefined)
    settings.fail(
      'in.subscribe and out.publish are missing: it needs a topic, for example in = { subscribe = "substation/#" }',
    )
  if (publish !== undefined && !/^[^#+\0]+$/.test(publish))
    output.refuse('publish', 'a topic without the wildcards # and +', '"substation/1"')
  if (subscribe !== undefined && !/^(?:(?:\+|[^#+/\0]*)\/)*(?:#|\+|[^#+/\0]*)$/.test(subscribe))
    input.refuse('subscribe', 'a topic, in which + stands for one level and # for all that follow', '"substation/#"')
  if (password !== undefined && username === undefined) settings.fail('a password needs a username', 'password')
  return result
}

function sslSettings(group: SettingsReader): SslSettings | undefined {
  const ssl = {
    insecure: group.boolean('insecure', false),
    verify: group.boolean('verify', true),
    cafile: group.string('cafile', '', '/etc/ssl/certs/ca-certificates.crt'),
    capath: group.string('capath', '', '/etc/ssl/certs'),
    certfile: group.string('certfile', '', 'client.crt'),
    keyfile: group.string('keyfile', '', 'client.key'),
    cipher: group.string('cipher', '', 'ECDHE-RSA-AES128-GCM-SHA256'),
    version: group.choice('tls_version', '', ['', 'tlsv1', 'tlsv1.1', 'tlsv1.2', 'tlsv1.3']),
  }
  const enabled = group.boolean('enabled', true)
  group.done()
  return enabled ? ssl : undefined
}

function tlsOptions({
  insecure,
  verify,
  cafile,
  capath,
  certfile,
  keyfile,
  cipher,
  version,
}: SslSettings): IClientOptions {
  const ca = [
    ...(cafile ? [readFileSync(cafile)] : []),
    ...(capath ? readdirSync(capath).map((name) => readFileSync(join(capath, name))) : []),
  ]
  const exact = version.replace('tlsv', 'TLSv') as SecureVersion
  return {
    ...(ca.length > 0 && { ca }),
    ...(certfile && { cert: readFileSync(certfile) }),
    ...(keyfile && { key: readFileSync(keyfile) }),
    ...(cipher && { ciphers: cipher }),
    ...(version && { minVersion: exact, maxVersion: exact }),
    ...(insecure && { checkServerIdentity: () => undefined }),
    rejectUnauthorized: verify,
  } as IClientOptions
}

class MqttNode implements RunningNode {
  readonly source: Inbox | null
  readonly destination: FramesOut | null
  readonly #context: NodeContext
  readonly #settings: MqttSettings
  readonly #counters: Counters
  readonly #client: MqttClient
  readonly #backoff: Backoff
  #inFlight = 0
  #failures = 0
  /** True if the broker has acknowledged the subscription, if there is one. */
  #subscribed = false
  #stopped = false

  constructor(context: NodeContext, settings: MqttSettings, connect: (options: IClientOptions) => MqttClient) {
    const { format, publish, subscribe, host, port, username, password, keepalive, ssl } = settings
    this.#context = context
    this.#settings = settings
    this.#counters = new Counters(context)
    this.source = subscribe === undefined ? null : new Inbox(context, format, this.#counters)
    this.destination =
      publish === undefined
        ? null
        : new FramesOut(context, format, this.#counters, {
            limit: frameLimit,
            send: (frame, count) => this.#send(frame, count),
          })
    this.#backoff = new Backoff(() => this.#client.reconnect())
    this.#client = connect({
      host,
      port,
      protocol: ssl ? 'mqtts' : 'mqtt',
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...(ssl && tlsOptions(ssl)),
      keepalive,
      // This node connects again by itself: with a back-off.
      reconnectPeriod: 0,
      connectTimeout: 10_000,
      resubscribe: false,
    })
    this.#listen()
  }

  get state(): string {
    if (this.#stopped) return 'stopped'
    return this.#client.connected && this.#subscribed ? 'connected' : 'pending connect'
  }

  counters(): Readonly<Record<string, number>> {
    return this.#counters.all
  }

  #listen(): void {
    const client = this.#client
    const { host, port } = this.#settings
    const where = `${host}:${port}`
    let connected = false
    client.on('connect', () => {
      connected = true
      this.#failures = 0
      this.#backoff.reset()
      this.#counters.add('connections')
      this.#context.log('info', `connected to ${where}`)
      this.#subscribe()
    })
    client.on('message', (_topic, payload) => {
      if (!this.#stopped) this.source?.message(payload)
    })
    client.on('error', (error) => {
      if (this.#failures++ === 0)
        this.#context.log('warn', `${where}: ${error.message || (error as NodeJS.ErrnoException).code}; trying again`)
    })
    client.on('close', () => {
      if (this.#stopped) return
      if (connected) {
        this.#counters.add('disconnects')
        this.#context.log('warn', `the connection to ${where} has ended, connecting again`)
      }
      connected = false
      this.#backoff.schedule()
    })
  }

  #subscribe(): void {
    const { subscribe, qos } = this.#settings
    this.#subscribed = subscribe === undefined
    if (subscribe === undefined) return
    this.#client.subscribe(subscribe, { qos }, (error) => {
      this.#subscribed = !error
      if (error && !this.#stopped)
        this.#counters.warn('subscribe_failed', `the topic ${subscribe} is not to be had: ${error.message}`)
    })
  }

  #send(frame: Uint8Array, count: number): boolean {
    const { publish, qos, retain } = this.#settings
    if (!this.#client.connected) {
      this.#counters.warn('not_connected', 'there is no connection: samples are lost', count)
      return false
    }
    if (this.#inFlight >= mostInFlight) {
      this.#counters.warn('dropped', `the broker is ${mostInFlight} messages behind: samples are lost`, count)
      return false
    }
    this.#inFlight++
    this.#client.publish(publish!, Buffer.from(frame), { qos, retain }, (error) => {
      this.#inFlight--
      if (error) this.#counters.warn('send_failed', `samples are lost: ${error.message}`, count)
    })
    return true
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#backoff.cancel()
    // Published messages go out first; a broker that does not answer is left.
    await new Promise<void>((done) => {
      const timer = setTimeout(() => this.#client.end(true, () => done()), 1000)
      this.#client.end(!this.#client.connected, () => {
        clearTimeout(timer)
        done()
      })
    })
    this.source?.stop()
  }
}

export const mqtt: NodeType = {
  name: 'mqtt',
  is: 'a broker of MQTT: publish, subscribe',
  parse(reader, common) {
    const settings = mqttSettings(reader)
    const needs = () => peerPackage('the node-type mqtt', 'mqtt@5', () => import('mqtt'))
    const start: ParsedNode['start'] = async (context) => {
      const { connect } = await needs()
      return new MqttNode(context, settings, connect)
    }
    const { subscribe, publish } = settings
    const used = { reads: subscribe !== undefined, writes: publish !== undefined }
    return inboxNode(common, start, { settings: reader, format: settings.format, ...used, needs })
  },
}
