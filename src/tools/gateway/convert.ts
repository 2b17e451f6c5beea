/** `verbena gateway convert`: `villas convert`, from standard input to standard output. */
import type { Command } from 'commander'
import { endWith, exitCodes, interruptible } from '../../cli/terminal/index.ts'
import { Converter, formatNames } from '../../gateway/index.ts'
import { describeProblems, parseFormat, parseSignals, usable } from './formats.ts'
import { standardInput, standardOutput } from './standard-io.ts'
import { addVillasOptions, saidLevels } from './villas-options.ts'

const help = `
Formats: ${formatNames.join(', ')}.
A format is its name, or its settings as JSON, as in a configuration of VILLASnode:
  villas.human, csv, tsv   real_precision (17), header, comment_prefix, delimiter, skip_first_line; separator (csv, tsv)
  json                     real_precision, compact, ts_received
  all of these             ts_origin, sequence, offset, data: false leaves a field out
  villas.binary, .web      source_index, validate_source_index; floats become 32 bits wide
  raw, gtnet               bits (8, 16, 32, 64), endianess (little, big), fake
  value                    real_precision; one value in each sample
  protobuf                 ts_origin, sequence

The types of the values are not in the samples: -t 8f2i means eight floats and two integers (f, i, b boolean,
c complex). A header names all of them. Further values are dropped, and the number of samples with such values is printed on standard error.

Input that cannot be read is skipped, and its position (line, byte) and the reason are printed on standard error; the exit code is then 1.
In villas.binary and villas.web no message after a malformed one can be found, so the conversion ends there; in protobuf the same holds
after a malformed length.

Examples:
  verbena gateway convert -o csv -t 8f < log.dat > log.csv
  verbena gateway convert -i csv -o '{"type":"json","compact":true}' < log.csv
  verbena gateway convert -i '{"type":"csv","separator":";","skip_first_line":true}' -o villas.binary < log.csv > log.bin
  verbena gateway convert -i '{"type":"raw","bits":64,"endianess":"big"}' -t 4f < log.raw`

interface Options {
  inputFormat: string
  outputFormat: string
  types: string
  log?: string
}

export function configure(command: Command): void {
  addVillasOptions(command)
    .description('Read samples in one format from standard input, and write them in another to standard output.')
    .option('-i, --input-format <format>', 'of standard input', 'villas.human')
    .option('-o, --output-format <format>', 'of standard output', 'villas.human')
    .option('-t, --types <types>', 'number and types of the values', '64f')
    .addHelpText('after', help)
    .action(convert)
}

async function convert({ inputFormat, outputFormat, types, log }: Options): Promise<void> {
  const says = saidLevels(log)
  const signals = parseSignals('--types', types)
  const input = parseFormat('--input-format', inputFormat)
  const output = parseFormat('--output-format', outputFormat)
  const decoder = usable('--input-format', () => input.decoder(signals))
  const encoder = usable('--output-format', () => output.encoder(signals))
  const { problems } = decoder
  const converter = new Converter(decoder, encoder, { write: standardOutput, values: signals.length })
  const interruption = interruptible('')
  try {
    for await (const chunk of standardInput(interruption.signal)) {
      await converter.push(chunk)
      if (problems.fatal) break
    }
    if (!interruption.signal.aborted) await converter.end()
  } finally {
    interruption.dispose()
  }
  if (says('warn')) describeProblems('The input', problems, signals)
  endWith(interruption.exitCode() ?? (problems.count > 0 ? exitCodes.failed : exitCodes.done))
}
