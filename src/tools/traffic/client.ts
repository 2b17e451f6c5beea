/** `verbena traffic client`: the requests of a configuration. */
import type { Command } from 'commander'
import { currentRun, Lines } from '../../cli/terminal/index.ts'
import { requestLine, Schedule, type TrafficConfig } from '../../traffic/index.ts'
import { loadTraffic, type Overrides } from '../../traffic/load/index.ts'
import { parseInteger, parseNumber, UsageError } from '../kit/index.ts'

const help = `
With --dry-run each request is a JSON document on a line: time in nanoseconds when it is due, server, size in bytes, verb, type
of queue pair, dscp, rate of its flow in bits per second (0: no limit), and group, the number of the fan-out that it belongs to. The same
seed gives the same bytes.

Examples:
  verbena traffic client web.yaml --dry-run
  verbena traffic client web.yaml --dry-run --seed 7 --count 1000 --load 0.5`

interface Options {
  dryRun?: boolean
  seed?: string
  count?: string
  duration?: string
  load?: string
  bandwidth?: string
  client?: string
}

export function configure(command: Command): void {
  command
    .description('Send the requests of a configuration to its servers, or write which ones there are.')
    .argument('<config>', "a file, or '-' for standard input")
    .option('--dry-run', 'write the schedule and send nothing')
    .option('--seed <number>', 'another seed (default: that of the configuration, 1)')
    .option('--count <number>', 'end after so many requests (default: that of the configuration)')
    .option('--duration <seconds>', 'end after this time (default: that of the configuration)')
    .option('--load <share>', 'another share of the bandwidth (default: that of the configuration, 0.1)')
    .option('--bandwidth <rate>', 'what a load of 1 is, such as 25Gbps (default: that of the configuration, 10Gbps)')
    .option('--client <index>', 'which of several clients this is (default: that of the configuration, 0)')
    .addHelpText('after', help)
    .action(async (file: string, options: Options) => {
      const config = loadTraffic(file, overridesOf(options))
      if (!options.dryRun) throw new UsageError('--dry-run', 'give it: so far only the schedule is written')
      await writeSchedule(config)
    })
}

function overridesOf({ seed, count, duration, load, bandwidth, client }: Options): Overrides {
  return {
    ...(seed !== undefined && { seed: parseInteger('--seed', seed, 1, 0, Number.MAX_SAFE_INTEGER) }),
    ...(count !== undefined && { count: parseInteger('--count', count, 1000, 0, Number.MAX_SAFE_INTEGER) }),
    ...(duration !== undefined && { duration: parseNumber('--duration', duration, 10, 0, 1e9) }),
    ...(load !== undefined && { load: parseNumber('--load', load, 0.1, 0, 100) }),
    ...(bandwidth !== undefined && { bandwidth }),
    ...(client !== undefined && { client: parseInteger('--client', client, 0, 0, 2 ** 20) }),
  }
}

/** Lines between two looks at whether the reader keeps up. */
const flushEvery = 1000

async function writeSchedule(config: TrafficConfig): Promise<void> {
  const { stdout } = currentRun().io
  const lines = new Lines(stdout)
  const schedule = new Schedule(config)
  for (let i = 1; schedule.next(); i++) {
    lines.add(requestLine(schedule, config.servers))
    if (i % flushEvery === 0 && !stdout.destroyed) await lines.flush()
  }
  await lines.flush()
}
