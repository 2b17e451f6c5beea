/** `verbena gateway compare`: `villas compare`, files of samples against the first of them. */
import { closeSync, openSync, readSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Command } from 'commander'
import { endWith, interruptible, print, printJson } from '../../cli/terminal/index.ts'
import { type Difference, differenceOf, formatNames, SampleReader, type Signal } from '../../gateway/index.ts'
import { parseNumber, UsageError } from '../kit/index.ts'
import { describeProblems, parseFormat, parseSignals } from './formats.ts'
import { addVillasOptions, saidLevels } from './villas-options.ts'

const codes = { equal: 0, length: 1, sequence: 2, timestamp: 3, count: 4, data: 5 } as const

const help = `
Samples are compared in order, all files with the first. The exit codes are those of villas compare:
  0  the files are equal
  1  they do not have the same number of samples; or a file is malformed, or cannot be read
  2  a sequence number differs; or usage error
  3  a time of origin differs
  4  a number of values differs
  5  a value differs

Floats, complex values and times (in seconds) may differ by --epsilon; integers and booleans may not. NaN equals NaN.
Formats: ${formatNames.join(', ')}, or settings of one as JSON; see verbena gateway convert --help.

Examples:
  verbena gateway compare in.dat out.dat
  verbena gateway compare -f csv -t 8f -e 1e-9 in.csv out.csv
  verbena gateway compare -T -s --json in.dat out.dat`

interface Options {
  epsilon: string
  values: boolean
  timestamp: boolean
  sequence: boolean
  format: string
  types: string
  json?: boolean
  log?: string
}

export function configure(command: Command): void {
  addVillasOptions(command)
    .description('Compare files of samples: numbers, times, values.')
    .argument('<files...>', 'files of samples, at least two')
    .option('-e, --epsilon <number>', 'values and seconds may differ by as much', '1e-6')
    .option('-v, --no-values', 'leave values out')
    .option('-T, --no-timestamp', 'leave times out')
    .option('-s, --no-sequence', 'leave sequence numbers out')
    .option('-f, --format <format>', 'of all files', 'villas.human')
    .option('-t, --types <types>', 'number and types of the values', '64f')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help)
    .action(compare)
}

async function compare(files: string[], options: Options): Promise<void> {
  if (files.length < 2) throw new UsageError('files', 'one file is equal to itself. Expected at least two')
  const says = saidLevels(options.log)
  const signals = parseSignals('--types', options.types)
  const epsilon = Number(options.epsilon)
  if (!(epsilon >= 0)) parseNumber('--epsilon', options.epsilon, 1e-6, 0, Number.MAX_VALUE)
  const sides = files.map((file) => ({ file, ...open(file, options.format, signals) }))
  const interruption = interruptible('')
  try {
    const found = await firstDifference(sides, signals, { ...options, epsilon }, interruption.signal)
    const isMalformed = sides.some(({ reader }) => reader.decoder.problems.count > 0)
    if (says('warn')) for (const { file, reader } of sides) describeProblems(file, reader.decoder.problems, signals)
    if (options.json) printJson({ equal: found === null, ...found, samples: sides[0]!.reader.count })
    else print(found === null ? `${sides[0]!.reader.count} samples are equal` : text(found, sides[0]!.file))
    endWith(
      interruption.exitCode() ?? (found === null ? (isMalformed ? codes.length : codes.equal) : codes[found.what]),
    )
  } finally {
    interruption.dispose()
    for (const { close } of sides) close()
  }
}

interface Side {
  file: string
  reader: SampleReader
}

type FoundDifference = Difference & { file: string; sample: number }

async function firstDifference(
  sides: readonly Side[],
  signals: readonly Signal[],
  options: { epsilon: number; sequence: boolean; timestamp: boolean; values: boolean },
  signal: AbortSignal,
): Promise<FoundDifference | null> {
  const compareOptions = { ...options, timestamps: options.timestamp, data: options.values }
  const [first, ...others] = sides
  for (let sample = 0; !signal.aborted; sample++) {
    // The event loop runs, so that Ctrl-C is handled.
    if (sample % 4096 === 4095) await nextTurn()
    const a = { samples: first!.reader.samples, word: first!.reader.next() }
    for (const { file, reader } of others) {
      const b = { samples: reader.samples, word: reader.next() }
      if (a.word < 0 && b.word < 0) continue
      if (a.word < 0 || b.word < 0) {
        const more = (isMore: boolean) => (isMore ? `more than ${sample}` : String(sample))
        return { file, sample, what: 'length', values: `${more(a.word >= 0)} and ${more(b.word >= 0)}` }
      }
      const difference = differenceOf(a, b, signals, compareOptions)
      if (difference !== null) return { file, sample, ...difference }
    }
    if (a.word < 0) return null
  }
  return null
}

function open(file: string, format: string, signals: readonly Signal[]): { reader: SampleReader; close(): void } {
  const decoder = parseFormat('--format', format).decoder(signals)
  const descriptor = openSync(file, 'r')
  const reader = new SampleReader(decoder, signals.length, (into) => readSync(descriptor, into, 0, into.length, null))
  return { reader, close: () => closeSync(descriptor) }
}

const names: Readonly<Record<Difference['what'], string>> = {
  length: 'numbers of samples',
  sequence: 'sequence numbers',
  timestamp: 'times of origin',
  count: 'numbers of values',
  data: 'values',
}

function text({ what, values, file, sample, index }: FoundDifference, first: string): string {
  const where = what === 'length' ? '' : ` of sample ${sample}${index === undefined ? '' : `, value ${index},`}`
  return `the ${names[what]}${where} in ${first} and ${file} differ: ${values}`
}
