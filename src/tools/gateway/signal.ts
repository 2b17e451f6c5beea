/** `verbena gateway signal`: `villas signal`, generated samples on standard output. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Command } from 'commander'
import { endWith, exitCodes, interruptible, note } from '../../cli/terminal/index.ts'
import { type Encoder, formatNames, mostSignals } from '../../gateway/index.ts'
import { checkSettings, type StandaloneNode, startStandalone } from '../../gateway/runtime/index.ts'
import { oneOf, parseInteger, parseNumber, wrongValue } from '../kit/index.ts'
import { parseFormat, usable } from './formats.ts'
import { standardOutput } from './standard-io.ts'
import { addVillasOptions, saidLevels } from './villas-options.ts'

const shapes = ['mixed', 'random', 'sine', 'triangle', 'square', 'ramp', 'constant', 'counter', 'pulse'] as const

const help = `
Types: ${shapes.join(', ')}. With mixed, each value has another of these.

Samples are generated at --rate, each with the time at which it was due and not before; a step that would be too late is left out, and
the number of these is printed on standard error at the end. With --no-realtime samples are generated as fast as they are read, with the
times that follow from the rate.

Formats: ${formatNames.join(', ')}, or settings of one as JSON; see verbena gateway convert --help.

Examples:
  verbena gateway signal sine -v 3 -r 100 -F 50 -l 10
  verbena gateway signal mixed -v 8 -n -l 500000 -f csv > log.csv
  verbena gateway signal counter -r 1000 | verbena gateway pipe lab.conf udp_node -s`

interface Options {
  values: string
  rate: string
  realtime: boolean
  frequency: string
  amplitude: string
  stddev: string
  offset: string
  phase: string
  limit?: string
  format: string
  log?: string
}

export function configure(command: Command): void {
  addVillasOptions(command)
    .description('Generate samples on standard output.')
    .argument('<type>', `shape of the values: ${shapes.join(', ')}`)
    .option('-v, --values <count>', 'values of a sample', '1')
    .option('-r, --rate <hz>', 'samples per second', '10')
    .option('-n, --no-realtime', 'as fast as they are taken')
    .option('-F, --frequency <hz>', 'of the shape', '1')
    .option('-a, --amplitude <number>', 'of the shape', '1')
    .option('-D, --stddev <number>', 'of the steps of random', '0.02')
    .option('-o, --offset <number>', 'added to all values', '0')
    .option('-p, --phase <radians>', 'of the shape', '0')
    .option('-l, --limit <count>', 'stop after as many samples, missed ones included (default: never)')
    .option('-f, --format <format>', 'of standard output', 'villas.human')
    .addHelpText('after', help)
    .action(run)
}

async function run(type: string, options: Options): Promise<void> {
  const says = saidLevels(options.log)
  const shape = oneOf(...shapes)(type)
  if (shape === undefined) throw wrongValue('type', type, shapes)
  const { config, errors } = checkSettings({
    nodes: {
      signal: {
        type: 'signal',
        signal: shape,
        values: parseInteger('--values', options.values, 8, 1, mostSignals),
        rate: parseNumber('--rate', options.rate, 1000, 1e-6, 1e7),
        realtime: options.realtime,
        frequency: finite('--frequency', options.frequency),
        amplitude: finite('--amplitude', options.amplitude),
        stddev: parseNumber('--stddev', options.stddev, 0.02, 0, 1e300),
        offset: finite('--offset', options.offset),
        phase: finite('--phase', options.phase),
        limit:
          options.limit === undefined ? 0 : parseInteger('--limit', options.limit, 1000, 1, Number.MAX_SAFE_INTEGER),
      },
    },
  })
  if (errors.length > 0) throw errors[0]
  const format = parseFormat('--format', options.format)
  const interruption = interruptible('')
  try {
    const generator = await startStandalone(config.nodes[0]!, {
      samples: batch,
      log: (level, line) => {
        if (says(level)) note(line)
      },
    })
    const encoder = usable('--format', () => format.encoder(generator.signals))
    await write(generator, encoder, interruption.signal)
    await generator.node.stop()
    endWith(interruption.exitCode() ?? exitCodes.done)
  } finally {
    interruption.dispose()
  }
}

/** Parses any finite number, as -1.5 or 2e3. */
function finite(flag: string, text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(value)) throw wrongValue(flag, text, 'a number', -1.5)
  return value
}

const batch = 128
const blockBytes = 1 << 16
/** Maximum time in which Ctrl-C is not handled. */
const longestWaitMs = 20

async function write({ node, pool }: StandaloneNode, encoder: Encoder, signal: AbortSignal): Promise<void> {
  const source = node.source!
  const indices = new Int32Array(batch)
  pool.take(indices, 0, batch)
  const bytes = new Uint8Array(blockBytes + encoder.bound)
  let filled = 0
  while (!signal.aborted) {
    const count = source.read(indices, batch)
    for (let i = 0; i < count; i++) {
      filled = encoder.encode(pool.samples, indices[i]!, bytes, filled)
      if (filled < blockBytes) continue
      await standardOutput(bytes.subarray(0, filled))
      filled = 0
    }
    if (count === batch) continue
    // No more samples are due now: the buffered ones are written.
    if (filled > 0) await standardOutput(bytes.subarray(0, filled))
    filled = 0
    if (source.ended) return
    await nextTurn()
    source.wait?.(longestWaitMs)
  }
}
