/** `verbena monitor watch` */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { endWith, exitCodes, type Interruption } from '../../cli/terminal/index.ts'
import { all, watchCapture } from '../../monitor/host/index.ts'
import { Merger, Observer, plainText, type Window } from '../../monitor/index.ts'
import type { Damage, TraceOptions } from '../../trace/index.ts'
import type { Served } from '../../web/serve/index.ts'
import { parseInteger, UsageError } from '../kit/index.ts'
import {
  captureFile,
  mustBeCapture,
  noteDamage,
  noteIfNothing,
  readingOf,
  readsPackets,
  stopOnInterrupt,
} from '../trace-kit/index.ts'
import { addAgentOptions, nameOf } from './agent.ts'
import { addConfigOptions } from './config.ts'
import { startMetrics } from './metrics.ts'
import { addOutputOptions, alertHelp, keyHelp } from './output.ts'
import { pageHelp } from './page.ts'
import { Run, type WatchCommandOptions } from './run.ts'

const help = `${keyHelp}
${pageHelp}

Several files are watched together, window by window, as agents at several points of a network. The interfaces of this host need the
capability CAP_NET_RAW; the packets of adapters that implement RoCE in hardware do not pass through an interface: mirror the port at the
switch. --tap runs a command and watches the roce devices of its processes; the exit code is that of the command, whose standard output goes
to standard error. On a terminal the output of both is mixed, and the last window comes when the command has ended: 2> FILE redirects the
output of the command. Windows of standard input end by the clock if its packets are live (tcpdump needs -U).
${alertHelp}

Examples:
  verbena monitor watch roce.pcap
  verbena monitor watch -i eth0 --window 5 --by qp --by operation --view top
  tcpdump -i eth0 -U -w - udp port 4791 | verbena monitor watch -
  verbena monitor watch --tap -- node program.js
  verbena monitor watch roce.pcap --by source,dscp --of packets --json
  verbena monitor watch -i eth0 --alert 'lossPercent > 0.1 for 3' --alert-webhook http://localhost:8080/alerts
  verbena monitor watch -i eth0 --page
  verbena monitor watch -i eth0 --metrics 9882 --metrics-token-file token
  verbena monitor watch -i eth0 --collector https://monitor:9880 --token-file token`

export function configure(command: Command): void {
  addAgentOptions(addOutputOptions(addConfigOptions(readsPackets(command))))
    .description('Watch RDMA traffic in windows: the largest keys, losses, latencies, and anomalies.')
    .argument('[files...]', 'captures: pcap or pcapng, compressed or not; - for standard input; with --tap, a command')
    .option('-i, --interface <names>', 'interfaces of this host, with commas between them, or any')
    .option('--tap', 'watch the roce devices of a command, which is after --')
    .option('--duration <seconds>', 'end after so long (default: when the source ends, or at Ctrl-C)')
    .option(
      '--metrics <[host:]port>',
      'serve metrics for Prometheus at /metrics of this port of 127.0.0.1 (default: not)',
    )
    .option('--metrics-token-file <file>', 'token for Prometheus (default: a new token, which is printed)')
    .option('--metrics-no-token', 'every client that can connect may read the metrics')
    .option('--workers <count>', 'threads for each file, each for some pairs of hosts (default: 1)')
    .addHelpText('after', help)
    .action(async (files: string[], options: WatchCommandOptions) => {
      const { tap = false, interface: interfaces } = options
      if ([files.length > 0 && !tap, tap, interfaces !== undefined].filter((one) => one).length > 1)
        throw new UsageError('-i', 'packets come from interfaces, from files or from a command (--tap): choose one')
      if ((tap || files.length === 0) && options.workers !== undefined)
        throw new UsageError('--workers', 'is for files: what comes live has one thread')
      if (!tap && files.length > 0 && options.duration !== undefined)
        throw new UsageError('--duration', 'is for live sources: a capture is read to its end')
      const run = new Run(options, tap || files.length > 0)
      // Interfaces are watched until an interrupt.
      const stop = stopOnInterrupt(!tap && files.length === 0)
      let metrics: Served | undefined
      try {
        await run.connect(files.length > 0 && !tap)
        await run.output.start()
        metrics = await startMetrics(options, run.output.metrics)
        const code = await (tap || files.length === 0 ? watchLive : watchFiles)(files, run, stop)
        await run.output.over(stop)
        const unsent = await run.close()
        endWith(stop.exitCode() ?? (unsent ? code || exitCodes.failed : code))
      } finally {
        await metrics?.close()
        await run.output.endPage()
        stop.dispose()
      }
    })
}

/** Watches interfaces, or a command: files need none of the modules that this loads. */
async function watchLive(words: readonly string[], run: Run, stop: Interruption): Promise<number> {
  const { watchCommand, watchInterfaces } = await import('./live.ts')
  return await (run.options.tap ? watchCommand : watchInterfaces)(words, run, stop)
}

async function watchFiles(files: readonly string[], run: Run, stop: Interruption): Promise<number> {
  // An agent sends its windows by source: the collector merges them.
  const direct = run.options.collector !== undefined
  // Sources that are ahead wait, so that no window is late.
  const merger = new Merger({ onWindow: (window) => run.window(window), mostWaiting: Number.POSITIVE_INFINITY })
  const workers = parseInteger('--workers', run.options.workers, 1, 1, 64)
  const trace: TraceOptions = readingOf(run.options, stop)
  const sources = files.map((file) => ({ file, source: captureFile(file) }))
  for (const file of files) for (let share = 0; share < workers; share++) merger.join(`${file} ${share}`)
  if (workers > 1) for (const file of files) mustBeFile(file)
  // A source that is ahead waits for the slower ones, so that only a few windows are in memory.
  const isAhead = (source: string, signal: AbortSignal): boolean =>
    (merger.lead(source) > 4 || run.isBehind) && !signal.aborted
  const room = async (source: string, signal: AbortSignal): Promise<void> => {
    while (isAhead(source, signal)) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  let bad = false
  await all(
    stop.signal,
    sources.map(({ file, source }) => async (signal) => {
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
        if (workers > 1) {
          const { watchShares } = await import('../../monitor/host/shares.ts')
          return await watchShares({
            ...{ file, agent, shares: workers, signal, config: () => run.config },
            ...(trace.decodeAs && { decodeAs: trace.decodeAs }),
            onWindow: async (share, window) => {
              take(share, window)
              await run.output.flush()
              await room(`${file} ${share}`, signal)
            },
            onEnd: (share) => merger.leave(`${file} ${share}`),
          })
        }
        // Only a window can fill the queue.
        let isNew = false
        const onWindow = (window: Window): void => {
          take(0, window)
          isNew = true
        }
        const observerOf = (): Observer =>
          new Observer({ ...{ config: run.config, trace, agent }, run: crypto.randomUUID(), onWindow })
        const { format, damage } = await watchCapture(source, run.following(observerOf), {
          ...{ signal, trace },
          isFull: () => {
            isNew &&= isAhead(`${file} 0`, signal)
            return isNew
          },
          room: () => room(`${file} 0`, signal),
          onProgress: () => run.output.flush(),
        })
        merger.leave(`${file} 0`)
        return { format, damage: damage.list, damageCount: damage.count }
      }
      const { format, damage, damageCount } = await read()
      // Another source has failed, and this one was cut short.
      if (signal.aborted && !stop.signal.aborted) return
      // Ctrl-C may come before the first packet does.
      if (!signal.aborted) mustBeCapture(file, { format, damage })
      noteDamage({ damage, damageCount })
      noteIfNothing(seen)
      if (damageCount > 0) bad = true
    }),
  )
  merger.flush()
  return bad ? exitCodes.failed : exitCodes.done
}

/** Throws if the file cannot be read by several threads at the same time. */
function mustBeFile(file: string): void {
  if (file === '-' || statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new UsageError('--workers', `'${file}' is no file that several threads can read`)
}
