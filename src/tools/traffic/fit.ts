/** `verbena traffic fit` */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { endWith, note, print, printJson, printPart } from '../../cli/terminal/index.ts'
import { type MessageOp, readMessages, type TraceMessages } from '../../replay/index.ts'
import { fitAllTraffic, fitTraffic, type SeenMessage, type TrafficFit, type Verb } from '../../traffic/index.ts'
import { defaultPort, fitText } from '../../traffic/load/index.ts'
import { parseNumber, UsageError } from '../kit/index.ts'
import {
  captureFile,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
} from '../trace-kit/index.ts'

const help = `
The messages of one host become the requests of a client: destinations, verbs, types of queue pairs, sizes of each verb, and the arrival
process that fits the gaps best. The first lines have the Kolmogorov-Smirnov distance (KS, 0 to 1) of each fit, and the distance that
chance exceeds in one case of twenty. The client sends all data itself (flow: push).

With --all each host that sends gets a configuration: run a server on all hosts, and on each the client with its own file. Each
client counts time from its own first request.

Examples:
  verbena traffic fit roce.pcap -o again.yaml
  verbena traffic fit roce.pcap --client 10.77.0.2 --server 10.0.0.5 --server 10.0.0.6 --scale 4
  verbena traffic fit roce.pcap --all hosts
  verbena traffic fit roce.pcap --json`

interface Options extends ReadOptions {
  out?: string
  all?: string
  client?: string
  server?: string[]
  scale?: string
  json?: boolean
}

const verbOf: Record<MessageOp, Verb | null> = {
  send: 'send',
  send_with_imm: 'send_with_imm',
  send_with_inv: 'send',
  write: 'write',
  write_with_imm: 'write_with_imm',
  read: 'read',
  fetch_add: 'fetch_add',
  compare_swap: 'compare_swap',
  atomic_write: 'write',
  flush: null,
}

export function configure(command: Command): void {
  readsCapture(command, '<trace>')
    .description('Write a configuration that generates traffic like that of a capture, with how well it fits.')
    .option('-o, --out <file>', 'the configuration (default: standard output)')
    .addOption(
      new Option(
        '--all <dir>',
        'a configuration for each host that sends, as DIR/ADDRESS.yaml (default: for one)',
      ).conflicts(['out', 'client', 'server', 'json']),
    )
    .option('--client <address>', 'the host whose messages are used (default: the one that sends the most)')
    .option(
      '--server <host>',
      'host or host:port in the place of those captured, may be repeated (default: those)',
      all,
    )
    .option('--scale <factor>', 'times as many requests per second (default: 1)')
    .option('--json', 'print the fit as one JSON document, and no configuration')
    .addHelpText('after', help)
    .action(async (file: string, options: Options) => {
      const scale = parseNumber('--scale', options.scale, 1, 1e-6, 1e6)
      const stop = stopOnInterrupt()
      const found = await readMessages(captureFile(file), readingOf(options, stop))
      stop.dispose()
      const { format, damage } = found.parser
      const damaged = { format, damage: damage.list, damageCount: damage.count }
      mustBeCapture(file, damaged)
      noteDamage(damaged)
      if (options.all === undefined) ofOne(file, found, options, scale)
      else ofAll(file, found, options.all, scale)
      endWith(exitCodeOf(stop, damage.count > 0))
    })
}

function ofOne(file: string, found: TraceMessages, options: Options, scale: number): void {
  const { client, server } = options
  const fit = fitTraffic(seen(found), client)
  if (fit === undefined)
    throw client === undefined ? noMessage(file) : new UsageError('--client', `${client} sends no message in ${file}`)
  if (options.json) printJson(fit)
  else {
    const text = fitText(fit, { scale, port: defaultPort, ...(server && { servers: server }) })
    if (options.out === undefined) printPart(text)
    else writeFileSync(options.out, text)
  }
  const others = found.messages.length - fit.count
  if (others > 0) note(`${others} messages of other hosts are left out: --client chooses one of them, --all has all`)
}

function ofAll(file: string, found: TraceMessages, folder: string, scale: number): void {
  const fits = fitAllTraffic(seen(found))
  if (fits.length === 0) throw noMessage(file)
  mkdirSync(folder, { recursive: true })
  for (const fit of fits) {
    const path = join(folder, fileName(fit))
    writeFileSync(path, fitText(fit, { scale, port: defaultPort }))
    print(`${path}  ${fit.count} requests`)
  }
}

function noMessage(file: string): UsageError {
  return new UsageError(file, 'there is no message in it')
}

/** Returns the name of a file, without the colons of an IPv6 address. */
function fileName({ client }: TrafficFit): string {
  return `${client.replace(/[^\w.-]/g, '-')}.yaml`
}

function all(one: string, before: string[] | undefined): string[] {
  return [...(before ?? []), one]
}

function seen({ connections, messages }: TraceMessages): SeenMessage[] {
  return messages.flatMap(({ connection, from, op, bytes, atNs }) => {
    const verb = verbOf[op]
    if (verb === null) return []
    const { type, ends } = connections[connection]!
    const hosts = { source: ends[from].address, destination: ends[from === 0 ? 1 : 0].address }
    return [{ timeNs: atNs, ...hosts, bytes, verb, type }]
  })
}
