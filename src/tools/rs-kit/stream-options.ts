/** The options that rstream and riostream have in common. */
import type { Command } from 'commander'
import { type CommonOptions, commonSettings, oneOf, parseInteger, wrongValue } from '../kit/index.ts'
import { allSizes, usualSizes } from './figures.ts'
import { portOf } from './options.ts'
import { rstreamPort, type StreamSettings } from './stream.ts'

export interface StreamOptions extends CommonOptions {
  s?: string
  b?: string
  f?: string
  B?: string
  i?: string
  I?: string
  C?: string
  S?: string
  p?: string
  k?: string
  T?: string[]
}

export function addStreamOptions(command: Command, port: number): Command {
  return command
    .option('-s <server>', 'be the client of the server with this address or name')
    .option('-b <address>', 'own address or name to bind to')
    .option('-f <format>', 'format of -s and -b: name, ip, ipv6 or gid (default: detected)')
    .option('-B <bytes>', 'size of the send and receive buffer (default: 524288)')
    .option('-i <bytes>', 'messages up to this size go inside a work request in latency tests (default: 64)')
    .option('-I <iterations>', 'iterations of one test of your own (default: 1)')
    .option('-C <number>', 'messages each way in an iteration of it (default: 1000)')
    .option('-S <bytes>', 'size of its messages, or "all" for tests of all sizes (default: 1000)')
    .option('-p <port>', `port (default: ${port})`)
}

/** Returns the settings. `chosen`: values of `-T`. */
export function streamSettings(options: StreamOptions, chosen: ReadonlySet<string>): StreamSettings {
  if (options.f !== undefined && oneOf('name', 'ip', 'ipv6', 'gid')(options.f) === undefined)
    throw wrongValue('-f', options.f, ['name', 'ip', 'ipv6', 'gid'])
  const all = options.S?.toLowerCase() === 'all'
  const custom = options.I !== undefined || options.C !== undefined || (options.S !== undefined && !all)
  return {
    ...commonSettings(options),
    server: options.s,
    bind: options.b,
    port: portOf(options.p, rstreamPort),
    kernel: chosen.has('socket'),
    async: chosen.has('async'),
    blocking: chosen.has('blocking'),
    verify: chosen.has('verify'),
    sizes: custom ? undefined : all ? allSizes : usualSizes,
    iterations: parseInteger('-I', options.I, 1, 1, 0x7fffffff),
    transferCount: parseInteger('-C', options.C, 1000, 1, 0x7fffffff),
    transferSize: parseInteger('-S', all ? undefined : options.S, 1000, 1, 0x40000000),
    bufferBytes: parseInteger('-B', options.B, 0, 0, 0x40000000),
    inlineBytes: parseInteger('-i', options.i, 64, 0, 65536),
    keepAliveSeconds: options.k === undefined ? undefined : parseInteger('-k', options.k, 1, 1, 32767),
  }
}
