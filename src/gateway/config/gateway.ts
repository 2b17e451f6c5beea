/** A configuration as a whole: the contents of the file, checked as far as they do not depend on the types of nodes and hooks. */
import { isGroup, type Settings, SettingsReader } from '../settings.ts'
import { missingSettings } from '../villas-only.ts'
import { ignored, takeIgnored } from './ignored.ts'
import { readNode, readUuid } from './node.ts'
import { readAffinity, readPath } from './path.ts'
import { attempt, notice, type Reading } from './reading.ts'
import { type GatewayConfig, type HttpConfig, logLevels, type NodeConfig, type PathConfig } from './types.ts'

const loopback = /^(127(\.\d{1,3}){3}|::1|localhost)$/

/**
 * Reads a configuration. Errors are in `reading.errors` afterwards, each with its place: an error in one node or path does not hide those
 * in others. The parts that were understood are returned in any case.
 */
export function readGateway(reading: Reading, settings: Settings): GatewayConfig {
  const reader = new SettingsReader('the configuration', settings, [], reading.placeOf)
  const uuid =
    attempt(reading, () => readUuid(reader)) ?? reading.known?.gateway ?? reading.uuidOf('', JSON.stringify(settings))
  const nodes = attempt(reading, () => readNodes(reading, uuid, reader)) ?? []
  const paths = attempt(reading, () => readPaths(reading, uuid, reader, nodes)) ?? []
  checkDestinations(reading, paths)
  takeIgnored(
    reader,
    ignored.gateway,
    (found) => reading.notices.push(found),
    (key) => reading.placeOf(settings, key),
  )
  const config: GatewayConfig = {
    name: attempt(reading, () => (reader.has('name') ? reader.string('name', null, 'lab') : null)) ?? null,
    uuid,
    statsHz: attempt(reading, () => reader.number('stats', 1, 0, 1000)) ?? 1,
    affinity: attempt(reading, () => readAffinity(reader)) ?? 0,
    idleStop: attempt(reading, () => reader.boolean('idle_stop', false)) ?? false,
    logging: attempt(reading, () => readLogging(reading, reader)) ?? { level: 'info', file: null },
    http: attempt(reading, () => readHttp(reader)) ?? noHttp,
    nodes,
    paths,
    settings,
  }
  for (const [key, why] of Object.entries(missingSettings))
    if (Object.hasOwn(settings, key) && reader.any(key) !== undefined)
      attempt(reading, () => reader.fail(`there is no setting '${key}': ${why}`, key))
  attempt(reading, () => reader.done())
  for (const { name, settings, type } of nodes)
    if (type === 'loopback' && isFull(name, paths))
      notice(reading, settings, 'type', `nobody reads node ${name}: what its queue does not take is lost`)
  for (const { name, settings, type, enabled } of nodes)
    if (
      type === 'websocket' &&
      enabled &&
      !config.http.enabled &&
      settings.port === undefined &&
      settings.destinations === undefined
    )
      notice(
        reading,
        settings,
        'type',
        `nobody can connect to node ${name}: there is no API. Add http = { port = 8080 }`,
      )
  return config
}

/** True if a path writes the node and no path reads it. */
function isFull(name: string, paths: readonly PathConfig[]): boolean {
  const on = paths.filter(({ enabled }) => enabled)
  return on.some(({ out }) => out.includes(name)) && !on.some((path) => path.in.some(({ node }) => node === name))
}

function readNodes(reading: Reading, uuid: string, reader: SettingsReader): NodeConfig[] {
  const nodes = reader.group('nodes')
  return nodes.keys().flatMap((name) => attempt(reading, () => readNode(reading, uuid, nodes, name)) ?? [])
}

function readPaths(reading: Reading, uuid: string, reader: SettingsReader, nodes: readonly NodeConfig[]): PathConfig[] {
  const list = reader.any('paths') ?? []
  if (!Array.isArray(list) || !list.every(isGroup))
    reader.refuse('paths', 'a list of paths', '[{"in":"node_1","out":"node_2"}]')
  // Nodes that could not be read have names in any case.
  const group = reader.any('nodes')
  const names = isGroup(group) ? Object.keys(group) : []
  const off = new Set(nodes.flatMap(({ enabled, name }) => (enabled ? [] : [name])))
  // UUIDs come from settings, not from places, so that a path stays the same when other paths come and go.
  const same = new Map<string, number>()
  const { known } = reading
  const taken = new Set(known?.paths)
  return (list as Settings[]).flatMap((settings, i) => {
    const text = JSON.stringify(settings)
    let before = same.get(text) ?? 0
    const next = (): string => reading.uuidOf(uuid, before === 0 ? text : `${text} ${before}`)
    while (known?.paths[i] === undefined && taken.has(next())) before++
    same.set(text, before + 1)
    const paths = attempt(reading, () => readPath(reading, i, settings, names, known?.paths[i] ?? next())) ?? []
    return paths.map((path) => {
      const missing = [...path.in.map(({ node }) => node), ...path.out].find((name) => off.has(name))
      if (missing === undefined || !path.enabled) return path
      notice(reading, settings, 'in', `path ${i} is not started: its node '${missing}' is not enabled`)
      return { ...path, enabled: false }
    })
  })
}

/** Checks that a node is the destination of at most one path, as in VILLASnode: samples of two would mix. */
function checkDestinations(reading: Reading, paths: readonly PathConfig[]): void {
  const taken = new Map<string, PathConfig>()
  for (const path of paths)
    for (const name of path.enabled ? path.out : []) {
      const first = taken.get(name)
      if (first === undefined) taken.set(name, path)
      else
        attempt(reading, () => {
          const place = reading.placeOf(first.settings, 'out')
          const where = place === undefined ? '' : ` (${place})`
          const why = `node '${name}' is the destination of another path already${where}`
          const reader = new SettingsReader('path', path.settings, [], reading.placeOf)
          reader.fail(`${why}. A node takes samples of one path; merge the sources in one`, 'out')
        })
    }
}

function readLogging(reading: Reading, reader: SettingsReader): GatewayConfig['logging'] {
  const logging = reader.group('logging')
  const { settings } = logging
  const level = logging.choice('level', 'info', [...logLevels, 'warn'])
  const file = logging.has('file') ? logging.string('file', null, '/var/log/gateway.log') : null
  takeIgnored(
    logging,
    ignored.logging,
    (found) => reading.notices.push(found),
    (key) => reading.placeOf(settings, key),
  )
  logging.done()
  return { level: level === 'warn' ? 'warning' : level, file }
}

const noHttp: HttpConfig = { enabled: false, port: 8080, host: '127.0.0.1', token: null, open: false, tls: null }

/** Reads the group `http`; the API listens if the group is there and does not disable it. */
function readHttp(reader: SettingsReader): HttpConfig {
  if (!reader.has('http')) return noHttp
  const http = reader.group('http')
  const enabled = http.boolean('enabled', true)
  const port = http.integer('port', noHttp.port, 0, 65535)
  const host = http.string('host', noHttp.host, noHttp.host)
  const token = http.has('token') ? http.string('token', null, `\${GATEWAY_TOKEN}`) : null
  // The message does not have the token: logs have more readers than those who may know it.
  if (token !== null && token.length < 16) http.fail('http.token: expected at least 16 characters', 'token')
  const open = http.boolean('no_token', false)
  if (open && token !== null) http.fail('http: with no_token nobody needs the token; leave one of them out', 'no_token')
  const certificate = http.has('ssl_cert') ? http.string('ssl_cert', null, 'cert.pem') : null
  const key = http.has('ssl_private_key') ? http.string('ssl_private_key', null, 'key.pem') : null
  if ((certificate === null) !== (key === null))
    http.fail('http: ssl_cert and ssl_private_key belong together', key === null ? 'ssl_cert' : 'ssl_private_key')
  http.done()
  if (enabled && open && !loopback.test(host))
    http.fail(
      `http.no_token: whoever reaches ${host} could control the gateway; leave it out, or listen on ${noHttp.host}`,
      'no_token',
    )
  return { enabled, port, host, token, open, tls: certificate === null ? null : { certificate, key: key! } }
}
