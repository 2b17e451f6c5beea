/** `verbena traffic fit` */
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { endWith, note, printJson, printPart } from '../../cli/terminal/index.ts'
import { type MessageOp, readMessages, type TraceMessages } from '../../replay/index.ts'
import { fitTraffic, type SeenMessage, type Verb } from '../../traffic/index.ts'
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
The messages of one host become the requests of a client: to whom, verbs, types of queue pairs, sizes of each verb, and the arrival
process whose gaps are nearest. How near is in the first lines, as distance of Kolmogorov and Smirnov (KS, 0 to 1) beside what
it would be by chance in one case of twenty. What the client sends it sends itself (flow: push).

Examples:
  verbena traffic fit roce.pcap -o again.yaml
  verbena traffic fit roce.pcap --client 10.77.0.2 --server 10.0.0.5 --server 10.0.0.6 --scale 4
  verbena traffic fit roce.pcap --json`

interface Options extends ReadOptions {
  out?: string
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
    .option('--client <address>', 'the host whose messages count (default: the one that sends most)')
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
      const fit = fitTraffic(seen(found), options.client)
      if (fit === undefined)
        throw new UsageError(
          options.client === undefined ? file : '--client',
          options.client === undefined ? 'there is no message in it' : `${options.client} sends no message in ${file}`,
        )
      if (options.json) printJson(fit)
      else {
        const text = fitText(fit, { scale, port: defaultPort, ...(options.server && { servers: options.server }) })
        if (options.out === undefined) printPart(text)
        else writeFileSync(options.out, text)
      }
      const others = found.messages.length - fit.count
      if (others > 0) note(`${others} messages of other hosts are left out: --client chooses one of them`)
      endWith(exitCodeOf(stop, damage.count > 0))
    })
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
