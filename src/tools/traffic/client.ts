/** `verbena traffic client`: the requests of a configuration. */
import type { Command } from 'commander'
import {
  currentRun,
  endWith,
  exitCodes,
  interruptible,
  Lines,
  note,
  printJson,
  version,
} from '../../cli/terminal/index.ts'
import { disturbance, saveTrafficRecord, type TrafficResults } from '../../report/index.ts'
import { requestLine, Schedule, type TrafficConfig } from '../../traffic/index.ts'
import { loadTraffic, type Overrides } from '../../traffic/load/index.ts'
import { beginResults, clearTimestamps, datedDirectory, saverOf } from '../bench-kit/index.ts'
import {
  addDeviceOption,
  addGidOption,
  meetingPlace,
  parseGidIndex,
  parseInteger,
  parseNumber,
  UsageError,
} from '../kit/index.ts'
import { Progress } from './live.ts'
import { setOf, settingsOf } from './results.ts'
import { runClient } from './session.ts'
import { documentOf, show } from './show.ts'

const help = `
Requests are sent when they are due, whether other requests are complete or not, and their flow completion times (FCT) count from then.
Servers are started by \`verbena traffic server\`; servers that are down or die are counted, and the other ones continue. Slowdown is the
time of a flow divided by the time of the fastest small request plus that of its size at the bandwidth.

Exit codes: 0 all requests are complete or were lost on unreliable queue pairs, 1 some failed, 2 the configuration is wrong or no server
can be used, 130 after Ctrl-C.

With --pcap client and servers run in this process in virtual time, on a switch with the bandwidth: the file has the packets at the
client's port, with ICRCs, ACKs, NAKs after losses, and CNPs after congestion marks. Servers get addresses from 10.0.0.2 on.

With --dry-run each request is a JSON document on a line: time in nanoseconds when it is due, server, size in bytes, verb, type
of queue pair, dscp, rate of its flow in bits per second (0: no limit), and group, the number of the fan-out that it belongs to. The same
seed gives the same bytes.

The folder of --out gets run.json, for \`verbena report\`, and 001.traffic.json: counts and histograms of all kinds of requests, which
\`verbena traffic merge\` adds up over clients.

Examples:
  verbena traffic client web.yaml -d shm:lab            after \`verbena traffic server -d shm:lab\`
  verbena traffic client web.yaml --dry-run
  verbena traffic client web.yaml --pcap web.pcap --count 100
  verbena traffic client web.yaml --dry-run --seed 7 --count 1000 --load 0.5`

interface Options {
  dryRun?: boolean
  pcap?: string
  rocev1?: boolean
  seed?: string
  count?: string
  duration?: string
  load?: string
  bandwidth?: string
  client?: string
  device?: string
  ibPort?: string
  gidIndex?: string
  rdma_cm?: boolean
  wait?: string
  out?: string
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Send the requests of a configuration to its servers, or write which ones there are.')
    .argument('<config>', "a file, or '-' for standard input")
    .option('--dry-run', 'write the schedule and send nothing')
    .option('--pcap <file>', 'write the packets that would travel, and send nothing (default: send)')
    .option('--rocev1', 'with --pcap: packets of RoCEv1 (Ethertype 0x8915) instead of RoCEv2')
    .option('--seed <number>', 'another seed (default: that of the configuration, 1)')
    .option('--count <number>', 'end after this number of requests (default: that of the configuration)')
    .option('--duration <seconds>', 'end after this time (default: that of the configuration)')
    .option('--load <share>', 'another share of the bandwidth, in all phases (default: that of the configuration, 0.1)')
    .option(
      '--bandwidth <rate>',
      'bandwidth of a load of 1, such as 25Gbps (default: that of the configuration, 10Gbps)',
    )
    .option('--client <index>', 'which of several clients this is (default: that of the configuration, 0)')
    .option('-i, --ib-port <port>', 'port of the adapter (default: 1)')
    .option('-R, --rdma_cm', 'let the RDMA CM connect the queue pairs')
    .option('--wait <seconds>', 'retry for this long while a server does not listen (default: 0)')
    .option('--out <dir>', 'where results are kept (default: a dated folder under results/)')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText('after', help)
    .action(async (file: string, options: Options) => {
      const config = loadTraffic(file, overridesOf(options))
      if (options.rocev1 && options.pcap === undefined)
        throw new UsageError('--rocev1', 'only the packets of --pcap can be such')
      if (options.dryRun) await writeSchedule(config)
      else if (options.pcap !== undefined) await capture(config, options.pcap, options)
      else await send(config, file, options)
    })
  addDeviceOption(command, { fallback: meetingPlace })
  addGidOption(command, '-x')
}

async function send(config: TrafficConfig, file: string, options: Options): Promise<void> {
  const { io, argv } = currentRun()
  const { stderr } = io
  const outDir = options.out ?? datedDirectory('traffic')
  const results: TrafficResults = { ...beginResults(['verbena', ...argv], 1), tool: 'traffic', unit: 'ns', sets: [] }
  const save = saverOf(results, outDir)
  const waitMs = parseNumber('--wait', options.wait, 0, 0, 86_400) * 1000
  const end = {
    ...(options.device ? { device: options.device } : {}),
    ibPort: parseInteger('-i', options.ibPort, 1, 1, 255),
    gidIndex: parseGidIndex('-x', options.gidIndex),
  }
  const progress = new Progress(stderr, options.json ? null : note, () => performance.now())
  const interruption = interruptible('Stopping.')
  try {
    const run = await runClient({
      ...{ config, end, rdmaCm: options.rdma_cm === true, version, waitMs, signal: interruption.signal },
      onBegin: (servers) => {
        if (!options.json) note(`connected to ${servers} of ${config.servers.length} servers`)
      },
      onLive: (live) => progress.show(live),
    })
    progress.clear()
    const interrupted = run.interrupted ? 'interrupted' : undefined
    const set = setOf(run.record, settingsOf(config, file, run.device), run.counted, interrupted)
    clearTimestamps(outDir)
    saveTrafficRecord(outDir, set.id, run.record)
    results.machine.pollingThreads = run.pollingThreads
    results.sets.push(set)
    results.complete = interrupted === undefined
    save()
    if (options.json) printJson(documentOf(set))
    else show(set, outDir)
    const disturbed = disturbance(results.machine)
    if (disturbed !== undefined) note(disturbed)
    endWith(interruption.exitCode() ?? (set.all.failed > 0 ? exitCodes.failed : exitCodes.done))
  } finally {
    interruption.dispose()
  }
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

/** Runs client and servers in this process, in virtual time. */
async function capture(config: TrafficConfig, path: string, { json, rocev1 = false }: Options): Promise<void> {
  const { captureTraffic } = await import('../../traffic/capture/index.ts')
  const { fileSink } = await import('../../files/index.ts')
  const { PcapWriter } = await import('../../capture/index.ts')
  const interruption = interruptible('Stopping; the packets so far are written.')
  const sink = fileSink(path)
  const writer = new PcapWriter(sink)
  try {
    const stopped = (): boolean => interruption.signal.aborted
    const result = captureTraffic({ config, writer, memoryOf: 'shm0', roceV1: rocev1, stopped })
    writer.close()
    if (json) printJson(result)
    else note(`${result.packets} packets of ${result.requests} requests in ${result.seconds.toFixed(3)} s`)
    endWith(interruption.exitCode() ?? (result.failed > 0 ? exitCodes.failed : exitCodes.done))
  } catch (error) {
    sink.abandon?.()
    throw error
  } finally {
    interruption.dispose()
  }
}

/** Number of lines between two checks of whether the reader keeps up. */
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
