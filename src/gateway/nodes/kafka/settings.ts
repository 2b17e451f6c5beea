/** Settings of the node-type kafka, and those of them that decide how its sockets are opened. */
import { readFileSync } from 'node:fs'
import type { Format, SettingsReader } from '../../index.ts'
import { formatSetting, inMessages } from '../kit/settings.ts'

export interface KafkaSettings {
  readonly format: Format
  /** Servers, each "HOST:PORT": any broker of the cluster names the other ones. */
  readonly servers: readonly string[]
  readonly clientId: string
  readonly consume: string | undefined
  /** Id of the group of consumers; empty if nothing is consumed. */
  readonly groupId: string
  readonly produce: string | undefined
  /** Time for a connection to be made, and for what is outstanding when the node stops. */
  readonly timeoutMs: number
  readonly tls: { readonly ca?: Buffer } | undefined
  readonly sasl: Sasl | undefined
}

export interface Sasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
  readonly username: string
  readonly password: string
}

const protocols = ['PLAINTEXT', 'SASL_PLAINTEXT', 'SASL_SSL', 'SSL'] as const

export function kafkaSettings(settings: SettingsReader): KafkaSettings {
  const input = settings.group('in')
  const output = settings.group('out')
  const protocol = settings.choice('protocol', 'PLAINTEXT', protocols)
  const consume = topic(input, 'consume')
  const groupId = input.string('group_id', consume === undefined ? '' : null, 'verbena')
  const produce = topic(output, 'produce')
  const result = {
    format: formatSetting(settings, 'villas.binary', inMessages),
    servers: servers(settings),
    clientId: settings.string('client_id', 'verbena', 'verbena'),
    consume,
    groupId,
    produce,
    timeoutMs: 1000 * settings.number('timeout', 1, 0.001, 3600),
    tls: tls(settings, protocol.endsWith('SSL')),
    sasl: sasl(settings, protocol.startsWith('SASL')),
  }
  input.done()
  output.done()
  settings.done()
  if (consume === undefined && produce === undefined)
    settings.fail(
      'in.consume and out.produce are missing: it needs a topic, for example out = { produce = "substation" }',
    )
  if (consume !== undefined && groupId === '') input.refuse('group_id', 'the name of a group of consumers', '"verbena"')
  return result
}

function servers(settings: SettingsReader): readonly string[] {
  const text = settings.string('server', null, 'localhost:9092')
  return text.split(',').map((each) => {
    const [, host, port = '9092'] = /^([^\s:[\]]+)(?::(\d{1,5}))?$/.exec(each.trim()) ?? []
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
      settings.refuse('server', 'HOST:PORT, or several with commas between them', '"localhost:9092"')
    return `${host}:${port}`
  })
}

/** Reads a topic. The legal names are those of Kafka's brokers. */
function topic(group: SettingsReader, key: string): string | undefined {
  if (!group.has(key)) return undefined
  const name = group.string(key, null, 'substation')
  if (!/^[\w.-]{1,249}$/.test(name) || name === '.' || name === '..')
    group.refuse(key, 'a topic: at most 249 letters, digits, points, underscores and hyphens', '"substation"')
  return name
}

/** Returns the key of one setting that VILLASnode's code, schema and examples have under two names. */
function eitherOf(group: SettingsReader, key: string, other: string): string {
  if (group.has(key) && group.has(other)) group.fail(`${group.of}: ${key} and ${other} are the same setting`, other)
  return group.has(other) ? other : key
}

function tls(settings: SettingsReader, used: boolean): { ca?: Buffer } | undefined {
  if (!settings.has('ssl')) return used ? {} : undefined
  if (!used) settings.fail('ssl has no effect without protocol = "SSL" or "SASL_SSL"', 'ssl')
  const group = settings.group('ssl')
  const key = eitherOf(group, 'ca', 'calocation')
  const ca = group.has(key) ? contentOf(group, key) : undefined
  group.done()
  return ca === undefined ? {} : { ca }
}

function contentOf(group: SettingsReader, key: string): Buffer {
  const file = group.string(key, null, '/etc/ssl/certs/ca-certificates.crt')
  try {
    return readFileSync(file)
  } catch (error) {
    group.fail(`${group.of}.${key}: ${file} cannot be read: ${(error as Error).message}`, key)
  }
}

const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

function sasl(settings: SettingsReader, used: boolean): Sasl | undefined {
  if (!used) {
    if (settings.has('sasl'))
      settings.fail('sasl has no effect without protocol = "SASL_PLAINTEXT" or "SASL_SSL"', 'sasl')
    return undefined
  }
  const group = settings.group('sasl')
  const result = {
    mechanism: group
      .choice(eitherOf(group, 'mechanism', 'mechanisms'), 'PLAIN', mechanisms)
      .toLowerCase() as Sasl['mechanism'],
    username: group.string('username', null, 'guest'),
    password: group.string('password', null, 'guest'),
  }
  group.done()
  return result
}
