/** `verbena monitor watch` */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { endWith, exitCodes, type Interruption, note } from '../../cli/terminal/index.ts'
import { openLive } from '../../collect/index.ts'
import { nativeCrc32 } from '../../memory/index.ts'
import { type AgentClient, watchCapture, watchLive, watchShares } from '../../monitor/host/index.ts'
import { Merger, type MonitorConfig, Observer, plainText, type Window } from '../../monitor/index.ts'
import { type Damage, type TraceOptions, useCrc32 } from '../../trace/index.ts'
import { parseInteger, parseNumber, type Scrapes, UsageError } from '../kit/index.ts'
import {
  captureFile,
  interfacesOf,
  mustBeCapture,
  noteDamage,
  noteIfNothing,
  type ReadOptions,
  readingOf,
  readsPackets,
  stopOnInterrupt,
} from '../trace-kit/index.ts'
import { type AgentOptions, addAgentOptions, connect, nameOf } from './agent.ts'
import { addConfigOptions, type ConfigOptions, configFrom } from './config.ts'
import { startMetrics } from './metrics.ts'
import { addOutputOptions, alertHelp, keyHelp, Output, type OutputOptions } from './output.ts'
import { pageHelp } from './page.ts'

const help = `${keyHelp}
${pageHelp}

Several files are watched together, window by window, as agents at several points of a network. The interfaces of this host need the
capability CAP_NET_RAW; adapters that do RoCE in hardware show its packets to no interface: mirror the port at the switch.
${alertHelp}

Examples:
  verbena monitor watch roce.pcap
  verbena monitor watch -i eth0 --window 5 --by qp --by operation --view top
  tcpdump -i eth0 -w - udp port 4791 | verbena monitor watch -
  verbena monitor watch roce.pcap --by source,dscp --of packets --json
  verbena monitor watch -i eth0 --alert 'lossPercent > 0.1 for 3' --alert-webhook http://localhost:8080/alerts
  verbena monitor watch -i eth0 --page
  verbena monitor watch -i eth0 --metrics 9882
  verbena monitor watch -i eth0 --collector https://monitor:9880 --token-file token`

interface Options extends ReadOptions, ConfigOptions, OutputOptions, AgentOptions {
  interface?: string
  duration?: string
  workers?: string
  metrics?: string
  metricsTokenFile?: string
}

/** How long an agent that ends waits for its collector. */
const closeMs = 10_000

export function configure(command: Command): void {
  addAgentOptions(addOutputOptions(addConfigOptions(readsPackets(command))))
    .description('Watch RDMA traffic in windows: the largest keys, losses, latencies, and what is wrong.')
    .argument('[files...]', 'captures: pcap or pcapng, compressed or not; - for standard input')
    .option('-i, --interface <names>', 'interfaces of this host, with commas between them')
    .option('--duration <seconds>', 'end after so long')
    .option(
      '--metrics <[host:]port>',
      'serve metrics for Prometheus at /metrics of this port of 127.0.0.1 (default: not)',
    )
    .option('--metrics-token-file <file>', 'what Prometheus must know (default: nothing, on loopback only)')
    .option('--workers <count>', 'threads for each file, each for some pairs of hosts (default: 1)')
    .addHelpText('after', help)
    .action(async (files: string[], options: Options) => {
      if (files.length > 0 && options.interface !== undefined)
        throw new UsageError('-i', 'packets come from interfaces or from files: choose one')
      const run = new Run(options)
      useCrc32(nativeCrc32())
      const stop = stopOnInterrupt()
      let metrics: Scrapes | undefined
      try {
        await run.connect(files.length > 0)
        await run.output.start()
        metrics = await startMetrics(options, run.output.metrics)
        const bad = files.length > 0 ? await watchFiles(files, run, stop) : await watchInterfaces(run, stop)
        await run.output.over(stop)
        const unsent = await run.close()
        endWith(stop.exitCode() ?? (bad || unsent ? exitCodes.failed : exitCodes.done))
      } finally {
        metrics?.close()
        await run.output.endPage()
        stop.dispose()
      }
    })
}

/** Where windows go: to the output, or to a collector, which then says how they are made. */
class Run {
  readonly options: Options
  readonly output: Output
  config: MonitorConfig
  #client: AgentClient | undefined
  #lost = 0
  /** Counts changes of the plan. */
  plans = 0

  constructor(options: Options) {
    this.options = options
    this.output = new Output(options)
    // Windows that are added to a file have to fit those in it.
    this.config = configFrom(options, options.collector === undefined ? options.save : undefined)
  }

  /** `canWait`: sources that wait while windows do, so that none has to be dropped. */
  async connect(canWait: boolean): Promise<void> {
    if (this.options.collector === undefined) return
    if (this.options.page !== undefined)
      throw new UsageError('--page', 'windows go to the collector: give it the option, too, and not the agent')
    const { client, config } = await connect(this.options, this.config, canWait, (changed) => {
      this.config = changed
      this.plans++
    })
    this.#client = client
    this.config = config
    note(`Windows of ${config.windowMs / 1000} s go to ${this.options.collector}.`)
  }

  window(window: Window): void {
    if (this.#client === undefined) this.output.window(window)
    else this.#client.send(window)
  }

  /** Whether a source that can wait should. */
  get isBehind(): boolean {
    return (this.#client?.waiting ?? 0) > 16
  }

  /**
   * The observer of a source now: another one when the collector's plan has changed. What was lost meanwhile, the last window of the old plan
   * included, is told by the next window.
   */
  following(make: () => Observer): () => Observer {
    let observer = make()
    let { plans } = this
    return () => {
      if (plans !== this.plans) {
        plans = this.plans
        observer.finish()
        observer = make()
      }
      const lost = this.#client?.lost ?? 0
      observer.add('unsent', lost - this.#lost)
      this.#lost = lost
      return observer
    }
  }

  /** True if windows could not be delivered. */
  async close(): Promise<boolean> {
    const unsent = ((await this.#client?.close(closeMs)) ?? 0) + (this.#client?.lost ?? 0)
    if (unsent > 0) note(`${unsent} windows could not be delivered to the collector.`)
    await this.output.close()
    return unsent > 0
  }
}

async function watchFiles(files: readonly string[], run: Run, stop: Interruption): Promise<boolean> {
  // An agent sends what it has by source: the collector merges.
  const direct = run.options.collector !== undefined
  // Sources that are ahead wait, so that no window is late.
  const merger = new Merger({ onWindow: (window) => run.window(window), mostWaiting: Number.POSITIVE_INFINITY })
  const workers = parseInteger('--workers', run.options.workers, 1, 1, 64)
  const trace: TraceOptions = readingOf(run.options, stop)
  const sources = files.map((file) => ({ file, source: captureFile(file) }))
  for (const file of files) for (let share = 0; share < workers; share++) merger.join(`${file} ${share}`)
  if (workers > 1) for (const file of files) mustBeFile(file)
  // A source that is ahead waits for the others, so that only a few windows are in memory.
  const isAhead = (source: string): boolean => (merger.lead(source) > 4 || run.isBehind) && !stop.signal.aborted
  const room = async (source: string): Promise<void> => {
    while (isAhead(source)) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  let bad = false
  await Promise.all(
    sources.map(async ({ file, source }) => {
      const seen = { packets: 0, roce: 0 }
      const name = file === '-' ? 'stdin' : basename(file)
      const agent = direct ? nameOf(run.options, name) : plainText(name)
      const take = (share: number, window: Window): void => {
        seen.packets += window.count('packets')
        seen.roce += window.count('roce')
        if (direct) run.window(window)
        else merger.add(`${file} ${share}`, window)
      }
      const read = async (): Promise<{
        format?: string | undefined
        damage: readonly Damage[]
        damageCount: number
      }> => {
        if (workers > 1)
          return await watchShares({
            ...{ file, agent, shares: workers, signal: stop.signal, config: () => run.config },
            ...(trace.decodeAs && { decodeAs: trace.decodeAs }),
            onWindow: async (share, window) => {
              take(share, window)
              await run.output.flush()
              await room(`${file} ${share}`)
            },
            onEnd: (share) => merger.leave(`${file} ${share}`),
          })
        // Only a window can make it full.
        let isNew = false
        const onWindow = (window: Window): void => {
          take(0, window)
          isNew = true
        }
        const observerOf = (): Observer =>
          new Observer({ ...{ config: run.config, trace, agent }, run: crypto.randomUUID(), onWindow })
        const { format, damage } = await watchCapture(source, run.following(observerOf), {
          ...{ signal: stop.signal, trace },
          isFull: () => {
            isNew &&= isAhead(`${file} 0`)
            return isNew
          },
          room: () => room(`${file} 0`),
          onProgress: () => run.output.flush(),
        })
        merger.leave(`${file} 0`)
        return { format, damage: damage.list, damageCount: damage.count }
      }
      const { format, damage, damageCount } = await read()
      mustBeCapture(file, { format, damage })
      noteDamage({ damage, damageCount })
      noteIfNothing(seen)
      if (damageCount > 0) bad = true
    }),
  )
  merger.flush()
  return bad
}

/** Threads read it at the same time. */
function mustBeFile(file: string): void {
  if (file === '-' || statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new UsageError('--workers', `'${file}' is no file that several threads can read`)
}

async function watchInterfaces(run: Run, stop: Interruption): Promise<boolean> {
  const { options } = run
  const interfaces = interfacesOf(options.interface)
  const durationMs = parseNumber('--duration', options.duration, Number.POSITIVE_INFINITY, 0.001, 1e7) * 1000
  const trace = readingOf(options, stop)
  const udpPorts = [4791, ...[...(trace.decodeAs ?? [])].filter(([, use]) => use === 'roce').map(([port]) => port)]
  const live = openLive({
    ...{ wanted: 'roce', udpPorts, headersOnly: false, snapLength: 262_144, ringBytes: 2 ** 26, promiscuous: true },
    ...{ interfaces, packets: Number.POSITIVE_INFINITY, durationMs },
  })
  note(`Watching ${interfaces.join(', ')}; Ctrl-C ends it.`)
  const agent = nameOf(options)
  const observerOf = (): Observer =>
    new Observer({
      ...{ config: run.config, trace, agent, run: crypto.randomUUID() },
      onWindow: (window) => run.window(window),
    })
  await watchLive(live, run.following(observerOf), { signal: stop.signal, durationMs })
  return false
}
