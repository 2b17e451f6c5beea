/** `verbena trace show` */
import { styleText } from 'node:util'
import { type Command, Option } from 'commander'
import { currentRun, endWith, Lines, wantsColour } from '../../cli/terminal/index.ts'
import {
  filterFields,
  hexLines,
  type LinePart,
  LinePrinter,
  parseFilter,
  plainJson,
  showCapture,
  type TimeFormat,
  timeFormatNamed,
  timeFormats,
  verboseLines,
} from '../../trace/index.ts'
import { wrongValue } from '../kit/index.ts'
import {
  captureFile,
  countOf,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
} from '../trace-kit/index.ts'

const fields = Object.entries(filterFields)
  .map(([name, { text }]) => `  ${name.padEnd(16)}${text}`)
  .join('\n')

const times = Object.entries(timeFormats)
  .map(([name, { letter, text }]) => `  ${`${name}, ${letter}`.padEnd(16)}${text}`)
  .join('\n')

const help = `
Columns: packet number, seconds since the first packet, addresses, #conversation with sending → receiving QP, operation,
PSN, payload; then its meaning: whether it repeats a packet, what an ACK covers and its latency, the reason of a NAK.
A file is read twice at the same time, so that information from later packets of a connection is available for the first ones; a pipe
is read once.

Formats of --time, with tshark's letters:
${times}

A filter consists of fields, compared with == != < <= > >=, ~ (contains) or in { 1, 3..5 }, and combined with and, or, not, ( ):
${fields}
Every value that --json prints is a field, too, by its place there: reth.va, aeth.msn, covers.packets, cm.localQpn, …
Times take the units ns, us, ms, s; sizes k, M, G (powers of 1024) and kB, MB, GB (of 1000); addresses may be networks.

Examples:
  verbena trace show roce.pcap --limit 20
  verbena trace show roce.pcap --filter 'retransmission or nak or rnr'
  verbena trace show roce.pcap --filter 'qp == 0x15 and latency > 100us'
  verbena trace show roce.pcap --filter 'op ~ write and addr == 10.0.0.7' --json
  verbena trace show roce.pcap --filter 'src == 10.77.0.0/24 and payload >= 4k' --time date
  verbena trace show roce.pcap --filter bad --verbose --hex`

interface Options extends ReadOptions {
  filter?: string
  limit?: number
  time?: TimeFormat
  verbose?: boolean
  hex?: boolean
  json?: boolean
}

export function configure(command: Command): void {
  readsCapture(command)
    .description('Show each packet on a line, with its meaning in its connection.')
    .option('-f, --filter <expr>', 'only packets for which this is true')
    .option('-n, --limit <count>', 'end after this number of packets (default: all)', countOf('--limit'))
    .option('-t, --time <format>', 'when packets were captured, as below (default: relative)', timeFormat)
    .option('-V, --verbose', 'show every header field by field, with the results of the analysis')
    .option('-x, --hex', 'show the bytes of each packet')
    .addOption(
      new Option('--json', 'print a JSON object for each packet, one on each line').conflicts([
        'verbose',
        'hex',
        'time',
      ]),
    )
    .addHelpText('after', help)
    .action(async (file: string, options: Options) => {
      const filter = options.filter === undefined ? undefined : parseFilter(options.filter)
      const stop = stopOnInterrupt()
      const out = new Lines(currentRun().io.stdout)
      const result = await showCapture(
        captureFile(file),
        rowWriter(options, (line) => out.add(line)),
        {
          ...readingOf(options, stop),
          onProgress: () => out.flush(),
          ...(filter !== undefined && { filter }),
          ...(options.limit !== undefined && { limit: options.limit }),
        },
      )
      await out.flush()
      stop.dispose()
      if (options.limit !== 0) mustBeCapture(file, result)
      noteDamage(result)
      endWith(exitCodeOf(stop, result.damageCount > 0))
    })
}

function timeFormat(text: string): TimeFormat {
  const format = timeFormatNamed(text)
  if (format !== undefined) return format
  throw wrongValue('--time', text, Object.keys(timeFormats), 'date')
}

type RowHandler = Parameters<typeof showCapture>[1]

/** Returns a handler that prints each row as the options require. */
function rowWriter({ json, verbose, hex, time }: Options, add: (line: string) => void): RowHandler {
  if (json) return (row) => add(JSON.stringify(row, plainJson))
  const paint = wantsColour(currentRun().io.stdout) ? painted : undefined
  const printer = new LinePrinter({ ...(time !== undefined && { time }), ...(paint !== undefined && { paint }) })
  return (row, packet, d) => {
    if (verbose) for (const line of verboseLines(row, packet, d, paint)) add(line)
    else add(printer.line(row))
    if (hex) for (const line of hexLines(packet)) add(line)
    if (verbose || hex) add('')
  }
}

const styles = {
  bad: 'red',
  warning: 'yellow',
  congestion: 'magenta',
  connection: 'cyan',
  title: 'bold',
  dim: 'dim',
} as const satisfies Record<LinePart, Parameters<typeof styleText>[0]>

function painted(part: LinePart, text: string): string {
  return styleText(styles[part], text)
}
