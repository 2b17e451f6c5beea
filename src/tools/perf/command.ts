/** `verbena perf send_lat | send_bw | write_lat | …`: perftest's measurements, both ends Verbena. */
import { isIP } from 'node:net'
import { type Command, Option } from 'commander'
import {
  endWith,
  exitCodes,
  interruptible,
  note,
  print,
  printFailure,
  printJson,
  version,
} from '../../cli/terminal/index.ts'
import {
  addDeviceOption,
  addGidOption,
  addRunOptions,
  addSynonym,
  choiceOption,
  defaultPort,
  meetingPlace,
  oneOf,
  parseGidIndex,
  parseInteger,
  parseNumber,
  type RunOptions,
  runSettings,
  UsageError,
  wrongValue,
} from '../kit/index.ts'
import { brokenLimits, type Limits, parseLatencyLimits } from './limits.ts'
import { maxExact } from './recorder.ts'
import { refuse, refusedOptions } from './refused.ts'
import { type Measured, type PerfResults, type PerfSession, runPerf } from './session.ts'
import {
  allSizes,
  atomicTypes,
  checkSettings,
  connections,
  defaultIters,
  type EndSettings,
  isLatency,
  maxQps,
  type PerfSettings,
  type PerfTest,
  perfTests,
  verbOf,
} from './settings.ts'
import {
  banner,
  type Figure,
  figure,
  figures,
  figuresOf,
  heading,
  rows,
  type Shown,
  sampleLines,
  title,
} from './table.ts'

interface Options extends RunOptions {
  device?: string
  ibPort?: string
  gidIndex?: string
  port?: string
  size?: string
  all?: boolean
  iters?: string
  duration?: string
  margin?: string
  warmup?: string
  qp?: string
  txDepth?: string
  rxDepth?: string
  post_list?: string
  connection?: string
  mtu?: string
  outs?: string
  inline_size?: string
  events?: boolean
  bidirectional?: boolean
  cqMod?: string
  atomic_type?: string
  sl?: string
  qpTimeout?: string
  rate?: string
  report_gbits?: boolean
  limit_bw?: string
  limit_msgrate?: string
  limitLatency?: string[]
  limitLost?: string
  rdma_cm?: boolean
  bind_source_ip?: string
  retry_count?: string
  rate_limit?: string
  rate_units?: string
  noPeak?: boolean
  output?: Figure
  reportHistogram?: boolean
  reportUnsorted?: boolean
}

const overview = `
Start a test without a host at one end, and with the first one's host at the other. The client's options apply; give
the server only its own options (-d, -i, -x, -p, --json, limits). Other options of the server must agree with the client's.

Examples:
  verbena perf send_lat -d shm:lab                     the server,
  verbena perf send_lat -d shm:lab localhost           and its client: half a round trip of SENDs
  verbena perf write_bw -a --report_gbits localhost    all sizes from 2 bytes to 8 MiB
  verbena perf send_lat --rate 50000 -D 10 localhost   latency under a load of 50,000 messages a second
  verbena perf read_lat --limit-latency p99=20,max=500 --json localhost
                                                       exit code 1 if a percentile is above its limit`

export function configure(command: Command): void {
  command
    .description('Measure bandwidth and latency between two processes, with the options and columns of perftest.')
    .addHelpText('after', overview)
  for (const test of perfTests) configureTest(test, command.command(test).summary(summaryOf(test)).exitOverride())
}

/** Returns one test as a command of its own. */
export function perfCommand(test: PerfTest): { configure(command: Command): void } {
  return { configure: (command) => configureTest(test, command) }
}

function summaryOf(test: PerfTest): string {
  const what = {
    send: 'SEND',
    write: 'RDMA WRITE',
    read: 'RDMA READ',
    atomic: 'atomics',
  }[verbOf(test)]
  if (!isLatency(test)) return `bandwidth and message rate of ${what}`
  return verbOf(test) === 'send' || verbOf(test) === 'write'
    ? `half the round trip of ${what}`
    : `time to completion of ${what}`
}

function configureTest(test: PerfTest, command: Command): void {
  const latency = isLatency(test)
  const verb = verbOf(test)
  command
    .description(`${title(test)}: ${summaryOf(test)}.`)
    .argument('[host]', 'the server; without it this is the server')
    .option('-i, --ib-port <port>', 'port of the adapter (default: 1)')
    .option('-p, --port <port>', `TCP port (default: ${defaultPort})`)
  addDeviceOption(command, { fallback: meetingPlace })
  addGidOption(command, '-x')
  if (verb !== 'atomic')
    command
      .option('-s, --size <bytes>', `size of messages (default: ${latency ? 2 : 65536})`)
      .option('-a, --all', 'sizes 2, 4, … 2^23')
  command
    .option('-n, --iters <number>', `messages${latency ? '' : ' of each queue pair'} (default: ${defaultIters(test)})`)
    .option('-D, --duration <seconds>', 'end the test after this time instead')
    .option(
      '-f, --margin <seconds>',
      'with -D: begin and end that are not measured (default: 2, at most a fifth of -D)',
    )
    .option(
      '--warmup <number>',
      `messages before the measurement (default: ${latency ? 'up to 10000, at most 1 s' : 'up to 5000 or 64 MiB, and until the code is compiled'})`,
    )
    .option('-t, --tx-depth <number>', `send queue${latency ? ', used with --rate' : ''} (default: 128)`)
  if (verb === 'send') command.option('-r, --rx-depth <number>', 'receive queue (default: 512)')
  command
    .option(
      '-c, --connection <type>',
      `${verb === 'send' ? 'RC, UC or UD' : verb === 'write' ? 'RC or UC' : 'RC'} (default: RC)`,
    )
    .option('-m, --mtu <bytes>', 'path MTU (default: the largest of both ports)')
  if (verb === 'read' || verb === 'atomic') command.option('-o, --outs <number>', 'outstanding requests (default: 16)')
  else command.option('-I, --inline_size <bytes>', `largest message that is inline (default: ${latency ? 220 : 0})`)
  if (verb === 'atomic')
    command.option('-A, --atomic_type <type>', `${atomicTypes.join(' or ')} (default: FETCH_AND_ADD)`)
  const events = new Option('-e, --events', 'sleep until a completion makes an event (default: poll)')
  command.addOption(events.hideHelp(test === 'write_lat'))
  if (!latency)
    command
      .option('-q, --qp <number>', 'queue pairs (default: 1)')
      .option('-l, --post_list <number>', 'work requests that are posted together (default: 1)')
      .option('-b, --bidirectional', 'both ends send; the columns are the sum')
      .option('-Q, --cq-mod <number>', 'one of this number of requests is signaled (default: 100)')
      .option('-N, --noPeak', 'show no peak')
      .option('--report_gbits', 'Gb/sec instead of MiB/sec')
      .option('-w, --limit_bw <value>', 'fail below this average bandwidth, in the unit of the report')
      .option('-y, --limit_msgrate <value>', 'fail below this message rate, Mpps')
  else
    command
      .option('-y, --limit_msgrate <value>', 'fail below this rate, Mpps')
      .option(
        '--limit-latency <name=usec,…>',
        'fail above: min, avg, stdev, max, p10 to p99.999',
        (text: string, before: string[] = []) => [...before, text],
      )
      .option('--limit-lost <number>', 'fail if more messages are lost (UC, UD)')
      .option('-H, --report-histogram', 'show every latency, sorted')
      .option('-U, --report-unsorted', 'show every latency in the order of the messages')
  command
    .addOption(choiceOption('--output <figure>', 'show only this figure of each size (default: all)', figures))
    .option(
      '--rate <messages/s>',
      latency
        ? 'open loop: send at this rate, and count latency from the intended send time (default: closed loop)'
        : 'each sender sends at this rate (default: as fast as it goes)',
    )
  if (!latency)
    command
      .option('--rate_limit <rate>', 'the same in the unit of --rate_units (default: as fast as it goes)')
      .option('--rate_units <unit>', 'of --rate_limit: M (MiB/sec), g (Gb/sec) or p (messages/s) (default: g)')
  command
    .option('-S, --sl <level>', 'service level (default: 0)')
    .option('-u, --qp-timeout <exponent>', 'ACK timeout of 4.096 µs · 2^exponent (default: 14)')
    .option('--retry_count <number>', 'retries of a packet that is not acknowledged, 0 to 7 (default: 7)')
    .option('--perform_warm_up', 'accepted as by perftest; there is always a warm-up, see --warmup')
    .option('-F, --CPU-freq', 'accepted as by perftest; the CPU frequency is not used')
    .option('-R, --rdma_cm', 'let the RDMA CM connect the queue pairs')
    .option('--bind_source_ip <address>', 'own address of the TCP connection (default: any)')
    .version(version, '-V, --version', 'print the version')
  addSynonym(command, '--source_ip <address>', 'bind_source_ip')
  for (const option of refusedOptions()) command.addOption(option)
  addRunOptions(command)
    .addHelpText('after', explanation(test))
    .action(async (host: string | undefined, options: Options) => {
      endWith(await measure(test, host, options))
    })
}

function explanation(test: PerfTest): string {
  const verb = verbOf(test)
  if (!isLatency(test))
    return `
Bandwidth is counted by the senders' completions; BW peak is the fastest window of a twentieth of the iterations, or
with -D of 10 ms. MiB are 2^20 bytes, Gb 10^9 bits. Both ends print the figures of both.

Examples:
  verbena perf ${test} -d shm:lab                     the server,
  verbena perf ${test} -d shm:lab localhost           and its client
  verbena perf ${test} -q 4 -b -D 5 localhost         four queue pairs, both directions, 5 seconds`
  const what =
    verb === 'send' || verb === 'write'
      ? 'Times are half the round trip; with --rate the whole of it, from the moment the message should have gone.'
      : 'Times are from posting to the completion; with --rate from the moment the request should have gone.'
  return `
${what}
No sample is dropped: t_max is the largest, t_typical the median. With -n percentiles are exact, with -D at most 0.1 %
too high.

Examples:
  verbena perf ${test} -d shm:lab                     the server,
  verbena perf ${test} -d shm:lab localhost           and its client
  verbena perf ${test} --rate 10000 -D 5 localhost    under an open-loop load
  verbena perf ${test} --limit-latency p99=20,max=500 localhost`
}

interface Parsed {
  settings: PerfSettings
  given: Partial<PerfSettings>
  end: EndSettings
  limits: Limits
  shown: Shown
}

function parse(test: PerfTest, host: string | undefined, options: Options): Parsed {
  refuse(options)
  const given: Partial<PerfSettings> = { test }
  const latency = isLatency(test)
  const verb = verbOf(test)
  /** Returns a setting that both ends share; it is recorded as given if it was. */
  const shared = <K extends keyof PerfSettings>(key: K, text: unknown, value: PerfSettings[K]): PerfSettings[K] => {
    if (text !== undefined) given[key] = value
    return value
  }
  const integer = (flag: string, text: string | undefined, fallback: number, min: number, max: number): number =>
    parseInteger(flag, text, fallback, min, max)
  const choice = <V extends string>(flag: string, text: string | undefined, all: readonly V[]): V => {
    const value = text === undefined ? all[0] : oneOf(...all)(text)
    if (value === undefined) throw wrongValue(flag, text, all, all[0])
    return value
  }
  if (options.all && options.size !== undefined) throw new UsageError('-a', 'gives all sizes: leave out -s')
  if (options.duration !== undefined && options.iters !== undefined)
    throw new UsageError('-D', 'ends the test by time: leave out -n')
  if (options.margin !== undefined && options.duration === undefined)
    throw new UsageError('-f', 'is the margin of a test that time ends: give -D')
  const duration = shared('duration', options.duration, parseNumber('-D', options.duration, 0, 0.1, 86_400))
  const sizes =
    verb === 'atomic'
      ? [8]
      : options.all
        ? [...allSizes]
        : [integer('-s', options.size, latency ? 2 : 65536, 1, 2 ** 30)]
  const iters = duration > 0 ? 0 : integer('-n', options.iters, defaultIters(test), 1, 2 ** 40)
  const txDepth = shared('txDepth', options.txDepth, integer('-t', options.txDepth, 128, 1, 16_000))
  const settings: PerfSettings = {
    test,
    sizes: shared('sizes', options.size ?? options.all, sizes),
    iters: shared('iters', options.iters, iters),
    duration,
    margin: shared('margin', options.margin, parseNumber('-f', options.margin, Math.min(2, duration / 5), 0, 3600)),
    warmup: shared(
      'warmup',
      options.warmup,
      options.warmup === undefined ? -1 : integer('--warmup', options.warmup, 1000, 0, 1e9),
    ),
    txDepth,
    rxDepth: shared('rxDepth', options.rxDepth, integer('-r', options.rxDepth, 512, 2, 16_000)),
    postList: shared('postList', options.post_list, integer('-l', options.post_list, 1, 1, 16_000)),
    qps: shared('qps', options.qp, integer('-q', options.qp, 1, 1, maxQps)),
    connection: shared('connection', options.connection, choice('-c', options.connection, connections)),
    mtu: shared('mtu', options.mtu, integer('-m', options.mtu, 0, 0, 65536)),
    outs: shared('outs', options.outs, integer('-o', options.outs, 16, 1, 128)),
    inlineSize: shared(
      'inlineSize',
      options.inline_size,
      integer('-I', options.inline_size, latency ? 220 : 0, 0, 65536),
    ),
    events: shared('events', options.events, options.events === true),
    bidirectional: shared('bidirectional', options.bidirectional, options.bidirectional === true),
    rate: shared('rate', options.rate ?? options.rate_limit, rateOf(options, sizes)),
    cqMod: shared('cqMod', options.cqMod, integer('-Q', options.cqMod, 100, 1, 16_000)),
    atomicType: shared('atomicType', options.atomic_type, choice('-A', options.atomic_type, atomicTypes)),
    qpTimeout: shared('qpTimeout', options.qpTimeout, integer('-u', options.qpTimeout, 14, 1, 31)),
    rdmaCm: shared('rdmaCm', options.rdma_cm, options.rdma_cm === true),
    retryCount: shared('retryCount', options.retry_count, integer('--retry_count', options.retry_count, 7, 0, 7)),
  }
  checkSettings(settings)
  const shown = shownOf(options, settings)
  const end: EndSettings = {
    ...(host === undefined ? {} : { host }),
    port: integer('-p', options.port, defaultPort, 1, 65535),
    ...(options.device ? { device: options.device } : {}),
    ...(options.bind_source_ip === undefined ? {} : { source: sourceOf(options.bind_source_ip) }),
    ibPort: integer('-i', options.ibPort, 1, 1, 255),
    gidIndex: parseGidIndex('-x', options.gidIndex),
    sl: integer('-S', options.sl, 0, 0, 15),
    samples: shown.samples !== undefined,
    ...runSettings(options),
  }
  const limits: Limits = { latency: parseLatencyLimits(options.limitLatency ?? []) }
  if (options.limit_bw !== undefined)
    limits.bandwidth = parseNumber('-w', options.limit_bw, 1, 0, 1e9) * (shown.gbits ? 1e9 / 8 : 2 ** 20)
  if (options.limit_msgrate !== undefined)
    limits.messageRate = parseNumber('-y', options.limit_msgrate, 1, 0, 1e6) * 1e6
  if (options.limitLost !== undefined) limits.lost = integer('--limit-lost', options.limitLost, 0, 0, 2 ** 40)
  return { settings, given, end, limits, shown }
}

/** Returns the messages per second. */
function rateOf({ rate, rate_limit: limit, rate_units: unit = 'g' }: Options, sizes: readonly number[]): number {
  if (limit === undefined) return parseNumber('--rate', rate, 0, 0.01, 1e9)
  if (rate !== undefined) throw new UsageError('--rate_limit', 'is --rate in another unit: give one of them')
  const bytes = { M: 2 ** 20, g: 1e9 / 8, p: sizes[0]! }[unit]
  if (bytes === undefined) throw wrongValue('--rate_units', unit, ['M', 'g', 'p'], 'g')
  if (unit !== 'p' && sizes.length > 1)
    throw new UsageError('--rate_limit', 'is another number of messages for each size: give -s, or --rate_units p')
  return (parseNumber('--rate_limit', limit, 1, 1e-6, 1e9) * bytes) / sizes[0]!
}

function shownOf(options: Options, { test, duration, iters }: PerfSettings): Shown {
  const { output, reportHistogram, reportUnsorted, json } = options
  const flag = reportUnsorted ? '-U' : '-H'
  const samples = reportUnsorted ? 'unsorted' : reportHistogram ? 'sorted' : undefined
  if (samples !== undefined && (duration > 0 || iters > maxExact))
    throw new UsageError(flag, `every latency is kept with -n up to ${maxExact} only: give -n`)
  if (output !== undefined && !figuresOf(test).includes(output))
    throw new UsageError('--output', `${output} is no figure of ${test}, which has ${figuresOf(test).join(' and ')}`)
  if (output !== undefined && json) throw new UsageError('--output', 'is for people and scripts without --json')
  return {
    gbits: options.report_gbits === true,
    peak: options.noPeak !== true,
    ...(output === undefined ? {} : { only: output }),
    ...(samples === undefined ? {} : { samples }),
  }
}

function sourceOf(text: string): string {
  if (isIP(text) === 0) throw wrongValue('--bind_source_ip', text, 'an IP address of this host')
  return text
}

/** Returns the exit code. */
async function measure(test: PerfTest, host: string | undefined, options: Options): Promise<number> {
  const { settings, given, end, limits, shown } = parse(test, host, options)
  const json = options.json === true
  const broken: string[] = []
  const interruption = interruptible('Stopping; what was measured so far is shown. Once more ends at once.')
  let results: PerfResults
  let session: PerfResults | null = null
  try {
    results = await runPerf({
      settings,
      given,
      end,
      version,
      signal: interruption.signal,
      onListening: () => {
        if (!json) note(`waiting for a client on TCP port ${end.port}`)
      },
      onBegin: (begun) => {
        session = { ...begun, runs: [] }
        if (!json && shown.only === undefined) print(`${banner(begun)}\n${heading(begun, shown)}`)
      },
      onSize: (measured) => {
        broken.push(...brokenLimits(limits, measured))
        if (!json && hasFigures(measured)) show(session!, measured, shown)
      },
    })
  } catch (error) {
    if (interruption.exitCode() !== undefined) return interruption.exitCode()!
    throw error
  } finally {
    interruption.dispose()
  }
  if (json) printJson(document(results, broken), plainSamples)
  else if (shown.only === undefined) print('-'.repeat(91))
  for (const sentence of broken) printFailure(`limit: ${sentence}`)
  if (interruption.exitCode() !== undefined) {
    if (!results.runs.some(hasFigures)) note('interrupted before anything was measured')
    return interruption.exitCode()!
  }
  if (results.error !== undefined) {
    printFailure(results.error)
    return exitCodes.failed
  }
  return broken.length > 0 ? exitCodes.failed : exitCodes.done
}

function show(session: PerfSession, measured: Measured, shown: Shown): void {
  if (shown.samples !== undefined) for (const lines of sampleLines(measured, shown.samples)) print(lines)
  if (shown.only !== undefined) print(figure(measured, shown.only, shown))
  else for (const line of rows(session, measured, shown)) print(line)
}

/** True if there are figures: an end that was interrupted or failed before the measurement began has only zeros. */
function hasFigures({ client, server }: Measured): boolean {
  return [client, server].some(({ sent, received, latency }) =>
    [sent?.messages, received?.messages, latency?.count].some((count) => count !== undefined && count > 0),
  )
}

function plainSamples(_key: string, value: unknown): unknown {
  return value instanceof Float64Array ? [...value] : value
}

/** Returns the document that `--json` prints. */
function document({ role, settings, mtu, local, peer, runs, error }: PerfResults, brokenLimits: string[]): object {
  return {
    tool: 'perf',
    test: settings.test,
    role,
    settings,
    mtu,
    local,
    peer,
    units: { latency: 'ns', rate: 'messages/s', size: 'bytes', time: 's' },
    runs,
    brokenLimits,
    ...(error === undefined ? {} : { error }),
  }
}
