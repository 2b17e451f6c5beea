/** `verbena trace show` */
import type { Command } from 'commander'
import { currentRun, endWith, Lines } from '../../cli/terminal/index.ts'
import { filterFields, LinePrinter, parseFilter, plainJson, showCapture } from '../../trace/index.ts'
import {
  captureFile,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
  wholeNumber,
} from './source.ts'

const fields = Object.entries(filterFields)
  .map(([name, { text }]) => `  ${name.padEnd(16)}${text}`)
  .join('\n')

const help = `
Columns: packet number, seconds since the first packet, addresses, #conversation with sending → receiving QP, operation,
PSN, payload; then what it means: whether it repeats a packet, what an ACK covers and how long that took, why a NAK.
A file is read twice (of a large one, two million packets), so that its first packets know what later ones tell about
their connection.

A filter is made of fields, compared with == != < <= > >=, ~ (contains) or in { 1, 3..5 }, and joined with and, or, not, ( ):
${fields}

Examples:
  verbena trace show roce.pcap --limit 20
  verbena trace show roce.pcap --filter 'retransmission or nak or rnr'
  verbena trace show roce.pcap --filter 'qp == 0x15 and latency > 100us'
  verbena trace show roce.pcap --filter 'op ~ write and addr == 10.0.0.7' --json
  verbena trace show roce.pcap --filter bad`

interface Options extends ReadOptions {
  filter?: string
  limit?: number
  json?: boolean
}

export function configure(command: Command): void {
  readsCapture(command)
    .description('Show a line for each packet, with what it means in its connection.')
    .option('-f, --filter <expr>', 'only packets for which this is true')
    .option('-n, --limit <count>', 'end after so many lines (default: all)', wholeNumber)
    .option('--json', 'print a JSON object for each packet, one on each line')
    .addHelpText('after', help)
    .action(async (file: string, options: Options) => {
      const filter = options.filter === undefined ? undefined : parseFilter(options.filter)
      const stop = stopOnInterrupt()
      const printer = new LinePrinter()
      const out = new Lines(currentRun().io.stdout)
      const result = await showCapture(
        captureFile(file),
        (row) => out.add(options.json ? JSON.stringify(row, plainJson) : printer.line(row)),
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
