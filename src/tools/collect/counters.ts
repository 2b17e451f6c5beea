/** `verbena collect counters` */
import { type Command, Option } from 'commander'
import {
  currentRun,
  endWith,
  exitCodes,
  type Interruption,
  interruptible,
  Lines,
  note,
  paint,
  print,
  table,
} from '../../cli/terminal/index.ts'
import {
  csvHead,
  csvLines,
  exactJson,
  type HostOptions,
  type HostReading,
  prometheusText,
  type Rates,
  RateTracker,
  readHost,
  readingDocument,
} from '../../collect/index.ts'
import { vocabulary } from '../../counters/index.ts'
import { parseInteger, parseNumber, UsageError } from '../kit/index.ts'
import { listenForScrapes } from './listen.ts'
import { noteProblems, readsTree, rootOf, waitUntil } from './source.ts'

const help = `
Values are in bytes (drivers count words of four), and counters with different names in drivers have one name: that of node_exporter's
metric if there is one. A counter that wraps (32 bits of mlx5), saturates (classic port counters) or was reset is detected, and marked in
the column of notes. A value that the driver returns from its cache (lifespan) has no rate.
PFC pauses and traffic by priority come from the driver of the network interface (ethtool).
Counters without a name in this vocabulary are in --json under "others", by the driver's name.

--json prints one document; with --interval one on each line. --csv has a line for each counter. --prometheus prints the text that
--listen serves at /metrics. Clients need a token: that of --token-file, or else one that is generated and printed. With --no-token
every client that can connect to the address can read these counters.

Exit code 1 if there is no RDMA device.

Examples:
  verbena collect counters
  verbena collect counters --interval 1 -d mlx5_0
  verbena collect counters --interval 10 --count 6 --csv
  verbena collect counters --prometheus
  verbena collect counters --listen 9879 --token-file token
  verbena collect counters --sysfs-root /tmp/recorded --all`

interface Options {
  device?: string
  ibPort?: string
  interval?: string
  count?: string
  qp?: boolean
  all?: boolean
  json?: boolean
  csv?: boolean
  prometheus?: boolean
  listen?: string
  tokenFile?: string
  token: boolean
  sysfsRoot?: string
}

type Format = 'table' | 'json' | 'csv' | 'prometheus'

export function configure(command: Command): void {
  const formats = ['json', 'csv', 'prometheus'] as const
  const others = (own: string): string[] => formats.filter((name) => name !== own)
  readsTree(command)
    .description('Read the counters of all RDMA devices, once or repeatedly.')
    .option('-d, --device <names>', 'only these devices, with commas between them (default: all)')
    .option('--ib-port <ports>', 'only these ports, with commas between them (default: all)')
    .option('--interval <seconds>', 'read again after this number of seconds (default: once)')
    .option('--count <count>', 'end after this number of readings (default: 1, with --interval until Ctrl-C)')
    .option('--qp', 'counters of queue pairs, too, if the kernel has them: in the table and in JSON')
    .option('--all', 'counters that are zero, too')
    .addOption(new Option('--json', 'print JSON').conflicts(others('json')))
    .addOption(new Option('--csv', 'print comma-separated values').conflicts(others('csv')))
    .addOption(new Option('--prometheus', 'print the text format of Prometheus').conflicts(others('prometheus')))
    .addOption(
      new Option(
        '--listen <[host:]port>',
        'serve that text at /metrics of this port of 127.0.0.1, or of another address (default: not)',
      ).conflicts(['json', 'csv', 'prometheus', 'interval', 'count']),
    )
    .option('--token-file <file>', 'token for clients of --listen (default: a new token, which is printed)')
    .option('--no-token', 'with --listen: every client that can connect may read the counters')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      const host = hostOptions(options)
      await checkNames(host)
      const { listen, tokenFile, token } = options
      if (listen !== undefined)
        return await listenForScrapes({ listen, token, ...(tokenFile !== undefined && { tokenFile }) }, host)
      if (tokenFile !== undefined || !token)
        throw new UsageError('--listen', 'is needed for --token-file and --no-token')
      const intervalMs = parseNumber('--interval', options.interval, 0, 0.001, 86_400) * 1000
      const once = options.interval === undefined
      if (once && options.count !== undefined) throw new UsageError('--count', 'needs --interval')
      const count = parseInteger('--count', options.count, once ? 1 : Number.POSITIVE_INFINITY, 1, 1e9)
      const format = formats.find((name) => options[name] === true) ?? 'table'
      const stop = interruptible('')
      const found = await readAgain(host, { format, intervalMs, count, all: options.all === true, stop })
      stop.dispose()
      if (!found)
        note(
          host.root === undefined
            ? 'There are no counters: the kernel has no RDMA device, and no program that runs has a roce device open.'
            : 'There is no RDMA device in this tree.',
        )
      endWith(stop.exitCode() ?? (found ? exitCodes.done : exitCodes.failed))
    })
}

export function hostOptions({ device, ibPort, qp, sysfsRoot }: Options): HostOptions {
  const devices = device?.split(',').filter((name) => name !== '') ?? []
  const ports = ibPort?.split(',').map((text) => parseInteger('--ib-port', text, 1, 1, 255)) ?? []
  return { devices, ports, queuePairs: qp === true, ...rootOf(sysfsRoot) }
}

/** Throws if a device that was named is not there at the beginning. */
async function checkNames(host: HostOptions): Promise<void> {
  const names = host.devices ?? []
  if (names.length === 0) return
  const { devices } = await readHost(host.root === undefined ? {} : { root: host.root })
  const known = devices.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const there = known.length === 0 ? 'there is none' : `there are ${known.join(', ')}`
  throw new UsageError('-d', `no RDMA device is called '${unknown}'; ${there}`)
}

interface Reading {
  format: Format
  intervalMs: number
  count: number
  all: boolean
  stop: Interruption
}

/** Returns false if no reading found a device. */
async function readAgain(host: HostOptions, { format, intervalMs, count, all, stop }: Reading): Promise<boolean> {
  const tracker = new RateTracker()
  const out = new Lines(currentRun().io.stdout)
  const startMs = performance.now()
  const told = new Set<string>()
  let found = false
  if (format === 'csv') out.add(csvHead)
  for (let n = 0; n < count && !stop.signal.aborted; n++) {
    await waitUntil(startMs + n * intervalMs, stop.signal)
    if (stop.signal.aborted) break
    const reading = await readHost(host)
    const rates = tracker.add(reading)
    found ||= reading.devices.length > 0
    // A file that cannot be read is reported once, not at each reading.
    const fresh = reading.problems.filter(({ path, what }) => !told.has(`${path} ${what}`))
    for (const { path, what } of fresh) told.add(`${path} ${what}`)
    noteProblems(fresh)
    if (format === 'json') out.add(exactJson(readingDocument(reading, count > 1 ? rates : undefined)))
    else if (format === 'prometheus') out.add(prometheusText(reading).trimEnd())
    else if (format === 'csv') for (const line of csvLines(reading, rates)) out.add(line)
    else show(reading, rates, count > 1, all)
    await out.flush()
  }
  return found
}

const stepTexts = {
  first: '',
  counted: '',
  wrapped: 'wrapped',
  reset: 'was reset: at least',
  saturated: 'at its end: at least',
  stale: 'not read anew yet',
} as const

function show({ devices, timeMs }: HostReading, rates: Rates, again: boolean, all: boolean): void {
  if (again) print(paint('bold', new Date(timeMs).toISOString()))
  const rows = devices.flatMap((device) =>
    device.ports.flatMap((port) =>
      port.readings
        .filter(({ value }) => all || value !== 0n)
        .map((one) => {
          const { step = 'first', perSecond } = rates.get(one) ?? {}
          const name = one.priority === undefined ? one.counter : `${one.counter} (priority ${one.priority})`
          const rate = perSecond === undefined ? '' : perSecond.toFixed(perSecond < 10 ? 2 : 0)
          const saturated = !again && isFull(one) ? stepTexts.saturated : stepTexts[step]
          const of = `${device.name}/${port.port}`
          const cells = [of, name, String(one.value), vocabulary.get(one.counter)?.unit ?? '']
          return [...cells, ...(again ? [rate] : []), saturated]
        }),
    ),
  )
  rows.push(...queuePairRows(devices, again, all))
  if (devices.length === 0) return
  if (rows.length === 0) print('all counters are zero: --all shows them')
  else print(table(['port', 'counter', 'value', 'unit', ...(again ? ['per second'] : []), 'note'], rows))
  if (again) print('')
}

/** Returns the rows of the counters of queue pairs; their owner is in the column of notes. */
function queuePairRows(devices: HostReading['devices'], again: boolean, all: boolean): string[][] {
  return devices.flatMap((device) =>
    device.ports.flatMap(({ port, queuePairs = [] }) =>
      queuePairs.flatMap(({ qpns, type, pid, program, readings }) =>
        readings
          .filter(({ value }) => all || value !== 0n)
          .map(({ counter, value }) => {
            const of = `${device.name}/${port} QP ${qpns.map((qpn) => `0x${qpn.toString(16)}`).join(',')}`
            const whose = [type, program, pid === undefined ? undefined : `process ${pid}`]
            const cells = [of, counter, String(value), vocabulary.get(counter)?.unit ?? '']
            return [...cells, ...(again ? [''] : []), whose.filter((one) => one !== undefined).join(', ')]
          }),
      ),
    ),
  )
}

/** True for a counter that saturates and has its maximum value. */
function isFull({ raw, mapping }: HostReading['devices'][number]['ports'][number]['readings'][number]): boolean {
  return mapping.overflow === 'saturate' && raw >= (1n << BigInt(mapping.bits)) - 1n
}
