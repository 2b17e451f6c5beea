/** `verbena trace convert` */
import type { Command } from 'commander'
import { endIfClosedPipe, endWith, note } from '../../cli/terminal/index.ts'
import { fileSink, gzipSink, isSameFile } from '../../files/index.ts'
import { convertCapture, parseFilter } from '../../trace/index.ts'
import { choiceOption, UsageError } from '../kit/index.ts'
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
The name of the output decides its format: .pcap or .pcapng, compressed if .gz follows. --format overrides that.
The output gets its name when it is complete; until then, an older file of that name is kept.
Of a damaged capture, everything that can be read is written, so that the output is sound. From pcapng to pcapng comments,
directions, drop counts, statistics, names, secrets and custom blocks are kept as they are; pcap has no place for them.

Examples:
  verbena trace convert roce.pcapng.gz roce.pcap
  verbena trace convert roce.pcap part.pcapng --filter 'conv == 2'
  verbena trace convert broken.pcap whole.pcap`

interface Options extends ReadOptions {
  format?: 'pcap' | 'pcapng'
  micro?: boolean
  filter?: string
}

export function configure(command: Command): void {
  readsCapture(command, '<in>')
    .description('Write the packets of a capture, or some of them, in another format.')
    .argument('<out>', 'the file to write; - for standard output')
    .addOption(choiceOption('--format <name>', 'format of the output (default: that of its name)', ['pcap', 'pcapng']))
    .option('--micro', 'pcap with microseconds instead of nanoseconds, for old readers')
    .option('-f, --filter <expr>', 'only packets for which this is true: see verbena trace show --help')
    .addHelpText('after', help)
    .action(async (input: string, output: string, options: Options) => {
      const filter = options.filter === undefined ? undefined : parseFilter(options.filter)
      const format = options.format ?? (/\.pcap(\.gz)?$/.test(output) ? 'pcap' : 'pcapng')
      const source = captureFile(input)
      if (isSameFile(input, output))
        throw new UsageError(named(output, 'standard output'), 'the file that is read: write to another one')
      const sink = output.endsWith('.gz') ? gzipSink(fileSink(output)) : fileSink(output)
      const stop = stopOnInterrupt()
      const result = await convertCapture(source, sink, {
        format,
        nanoseconds: options.micro !== true,
        ...readingOf(options, stop),
        ...(filter !== undefined && { filter }),
      }).catch((error: unknown) => {
        if (output === '-') endIfClosedPipe(error)
        throw error
      })
      stop.dispose()
      mustBeCapture(input, result)
      noteDamage(result)
      note(`${result.written} of ${result.packets} packets written`)
      if (result.leftOut.length > 0)
        note(`Left out: ${result.leftOut.join(', ')}.${format === 'pcap' ? ' pcapng keeps them.' : ''}`)
      if (result.unfitTimes > 0)
        note(
          `${result.unfitTimes} packets have another time: a pcap file holds times from 1970 to February 2106. pcapng holds all.`,
        )
      endWith(exitCodeOf(stop, result.damageCount + result.unfitTimes > 0))
    })
}

function named(file: string, standard: string): string {
  return file === '-' ? standard : file
}
