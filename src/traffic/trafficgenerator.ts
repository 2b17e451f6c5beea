/**
 * Text format of HKUST's TrafficGenerator, its client and its incast client:
 *
 *     server 192.168.1.51 5001
 *     req_size_dist conf/DCTCP_CDF.txt
 *     rate 500Mbps 30
 *     dscp 1 25
 *     fanout 8 20
 *     load 500Mbps
 *     num_reqs 1500
 *
 * It becomes the settings that a YAML file would have. As there, the flows of a fan-out share its size, and text after the values on a line
 * is ignored: some of its own configurations name the rack of a server there. `load` counts payload here.
 */
import { notValid, quoted } from '../spelling/index.ts'
import { TrafficError } from './error.ts'

const trafficGeneratorKeys = ['server', 'req_size_dist', 'rate', 'dscp', 'fanout', 'load', 'num_reqs'] as const
type Key = (typeof trafficGeneratorKeys)[number]

const forms: Readonly<Record<Key, [form: RegExp, expected: string, example: string]>> = {
  server: [/^(\S+)\s+(\d+)(?!\S)/, 'a host and a port', 'server 192.168.1.51 5001'],
  req_size_dist: [/^(\S+)/, 'a file', 'req_size_dist conf/DCTCP_CDF.txt'],
  rate: [/^(\d+(?:\.\d+)?)\s*([MGK]bps)\s+(\d+(?:\.\d+)?)(?!\S)/i, 'a rate and a weight', 'rate 500Mbps 30'],
  dscp: [/^(\d+)\s+(\d+(?:\.\d+)?)(?!\S)/, 'a DSCP and a weight', 'dscp 1 25'],
  fanout: [/^(\d+)\s+(\d+(?:\.\d+)?)(?!\S)/, 'a fan-out and a weight', 'fanout 8 20'],
  load: [/^(\d+(?:\.\d+)?)\s*([MGK]bps)(?!\S)/i, 'a rate', 'load 500Mbps'],
  num_reqs: [/^(\d+)(?!\S)/, 'a whole number', 'num_reqs 1500'],
}

const lineEnd = /\r\n|\r|\n/

/** True if a text is in this format: its first word is one of its keys, and is not a YAML key. */
export function isTrafficGenerator(text: string): boolean {
  // One expression for the preceding empty lines would take twice as long with each of them.
  const line = text.split(lineEnd).find((each) => !/^\s*(#|$)/.test(each)) ?? ''
  const key = /^\s*(\w+)[ \t]+[^:\s]/.exec(line)?.[1]
  return key !== undefined && (trafficGeneratorKeys as readonly string[]).includes(key)
}

export interface TextSettings {
  settings: Record<string, unknown>
  /** Line of each setting, by its path: `servers.0`, `dscp.46`. */
  lines: ReadonlyMap<string, number>
}

/** Parses a text. Throws a `TrafficError` that lists all problems, each on a line with file and line. */
export function parseTrafficGenerator(text: string, name: string): TextSettings {
  const lines = new Map<string, number>()
  const servers: unknown[] = []
  const weights: Record<'rate' | 'dscp' | 'fanout', Record<string, number>> = { rate: {}, dscp: {}, fanout: {} }
  const settings: Record<string, unknown> = { servers }
  const wrong: string[] = []
  for (const [index, raw] of text.split(lineEnd).entries()) {
    const line = raw.replace(/#.*/, '').trim()
    if (line === '') continue
    const [key = '', ...rest] = line.split(/\s+/)
    const form = Object.hasOwn(forms, key) ? forms[key as Key] : undefined
    const found = form?.[0].exec(rest.join(' ')) ?? null
    if (form === undefined || found === null) {
      const what =
        form === undefined
          ? `there is no such key; there are ${trafficGeneratorKeys.join(', ')}`
          : notValid(quoted(rest.join(' ')), form[1], form[2])
      wrong.push(`${name}:${index + 1}: ${key}: ${what}`)
      continue
    }
    const [, first = '', second = '', third = ''] = found
    switch (key as Key) {
      case 'server':
        lines.set(`servers.${servers.length}`, index + 1)
        servers.push({ host: first, port: Number(second) })
        break
      case 'req_size_dist':
        lines.set('size', index + 1)
        settings.size = { cdf: first }
        break
      case 'rate': {
        const rate = `${first}${second}`
        lines.set(`rate.${rate}`, index + 1)
        weights.rate[rate] = (weights.rate[rate] ?? 0) + Number(third)
        break
      }
      case 'dscp':
      case 'fanout': {
        const of = weights[key as 'dscp' | 'fanout']
        lines.set(`${key}.${Number(first)}`, index + 1)
        of[Number(first)] = (of[Number(first)] ?? 0) + Number(second)
        break
      }
      case 'load':
        lines.set('bandwidth', index + 1)
        settings.bandwidth = `${first}${second}`
        settings.load = 1
        break
      case 'num_reqs':
        lines.set('count', index + 1)
        settings.count = Number(first)
    }
  }
  if (wrong.length > 0) throw new TrafficError('ERR_TRAFFIC_CONFIGURATION', wrong.join('\n'))
  for (const [key, of] of Object.entries(weights)) if (Object.keys(of).length > 0) settings[key] = of
  return { settings, lines }
}
