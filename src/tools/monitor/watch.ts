/** `verbena monitor watch` */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { currentRun, endWith, exitCodes, type Interruption, Lines, note } from '../../cli/terminal/index.ts'
import { openLive } from '../../collect/index.ts'
import { nativeCrc32 } from '../../memory/index.ts'
import { watchCapture, watchLive } from '../../monitor/host/index.ts'
import {
  answerOf,
  type Key,
  keyNames,
  type Measure,
  Merger,
  type MonitorConfig,
  monitorConfig,
  Observer,
  parseKey,
  usualKeys,
  type Window,
} from '../../monitor/index.ts'
import { type TraceOptions, useCrc32 } from '../../trace/index.ts'
import { parseInteger, parseNumber, UsageError } from '../kit/index.ts'
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
import { showWindow } from './show.ts'

const keyHelp = Object.keys(keyNames).join(', ')

const help = `
Keys: ${keyHelp};
or fields with commas between them: source, destination, sourceQp, destinationQp, service, operation, opcode, pkey, dscp, rkey.
Measures: bytes, packets, messages, or an event: retransmission, duplicate, missing, late, repeat, restart, timeout, nakSequence,
nakInvalid, nakAccess, nakOperational, nakOther, rnr, cnp, marked, icrc, malformed.

Several files are watched together, window by window, as agents at several points of a network.

Examples:
  verbena monitor watch roce.pcap
  verbena monitor watch -i eth0 --window 5 --by qp --by operation
  tcpdump -i eth0 -w - udp port 4791 | verbena monitor watch -
  verbena monitor watch roce.pcap --by source,dscp --of packets --json`

interface Options extends ReadOptions {
  interface?: string
  window?: string
  memory?: string
  by?: string[]
  of: string
  top?: string
  duration?: string
  json?: boolean
}

export function configure(command: Command): void {
  readsPackets(command)
    .description('Watch RDMA traffic in windows: the largest keys, losses, latencies, and what is wrong.')
    .argument('[files...]', 'captures: pcap or pcapng, compressed or not; - for standard input')
    .option('-i, --interface <names>', 'interfaces of this host, with commas between them')
    .option('--window <seconds>', 'length of a window (default: 1)')
    .option('--memory <MiB>', 'memory for all that grows with traffic (default: 32)')
    .option('--by <key>', 'a key to list; may be repeated (default: connection, qp, hosts, operation)', collect)
    .option('--of <measure>', 'what is summed: bytes, packets, messages, or an event', 'bytes')
    .option('--top <count>', 'rows of each list (default: 5)')
    .option('--duration <seconds>', 'end after so long (default: at Ctrl-C)')
    .option('--json', 'print one JSON document for each window, a line each')
    .addHelpText('after', help)
    .action(async (files: string[], options: Options) => {
      const view = viewOf(options)
      const config = monitorConfig({
        windowSeconds: parseNumber('--window', options.window, 1, 0.01, 3600),
        memoryBytes: parseNumber('--memory', options.memory, 32, 1, 16_384) * 2 ** 20,
      })
      if (files.length > 0 && options.interface !== undefined)
        throw new UsageError('-i', 'packets come from interfaces or from files: choose one')
      useCrc32(nativeCrc32())
      const stop = stopOnInterrupt()
      const lines = new Lines(currentRun().io.stdout as unknown as NodeJS.WriteStream)
      const show = (window: Window): void => {
        const answer = answerOf(window, view)
        if (view.json) lines.add(JSON.stringify(answer))
        else showWindow(answer, view.top)
      }
      try {
        if (files.length > 0) await watchFiles(files, config, options, stop, show, lines)
        else await watchInterfaces(config, options, stop, show)
        await lines.flush()
      } finally {
        stop.dispose()
      }
    })
}

export interface View {
  keys: readonly Key[]
  measure: Measure
  top: number
  json: boolean
}

function collect(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text]
}

function viewOf({ by, of, top, json }: Options): View {
  return {
    keys: by === undefined ? usualKeys : by.map(parseKey),
    measure: of as Measure,
    top: parseInteger('--top', top, 5, 1, 100_000),
    json: json === true,
  }
}

async function watchFiles(
  files: readonly string[],
  config: MonitorConfig,
  options: Options,
  stop: Interruption,
  show: (window: Window) => void,
  lines: Lines,
): Promise<void> {
  const merger = new Merger({ onWindow: show })
  const trace: TraceOptions = readingOf(options, stop)
  const sources = files.map((file) => ({ file, source: captureFile(file) }))
  for (const file of files) merger.join(file)
  let bad = false
  await Promise.all(
    sources.map(async ({ file, source }) => {
      const seen = { packets: 0, roce: 0 }
      const observer = new Observer({
        ...{ config, trace, agent: file === '-' ? 'stdin' : basename(file), run: randomUUID() },
        onWindow: (window) => {
          seen.packets += window.count('packets')
          seen.roce += window.count('roce')
          merger.add(file, window)
        },
      })
      const onProgress = async (): Promise<void> => {
        await lines.flush()
        // A source that is ahead waits for the others, so that only a few windows are in memory.
        while (merger.lead(file) > 4 && !stop.signal.aborted) await new Promise((resolve) => setTimeout(resolve, 1))
      }
      const parser = await watchCapture(source, observer, { signal: stop.signal, trace, onProgress })
      merger.leave(file)
      const { damage } = parser
      mustBeCapture(file, { format: parser.format, damage: damage.list })
      noteDamage({ damage: damage.list, damageCount: damage.count })
      noteIfNothing(seen)
      if (damage.count > 0) bad = true
    }),
  )
  merger.flush()
  endWith(stop.exitCode() ?? (bad ? exitCodes.failed : exitCodes.done))
}

async function watchInterfaces(
  config: MonitorConfig,
  options: Options,
  stop: Interruption,
  show: (window: Window) => void,
): Promise<void> {
  const interfaces = interfacesOf(options.interface)
  const durationMs = parseNumber('--duration', options.duration, Number.POSITIVE_INFINITY, 0.001, 1e7) * 1000
  const trace = readingOf(options, stop)
  const udpPorts = [4791, ...[...(trace.decodeAs ?? [])].filter(([, use]) => use === 'roce').map(([port]) => port)]
  const live = openLive({
    ...{ wanted: 'roce', udpPorts, headersOnly: false, snapLength: 262_144, ringBytes: 2 ** 26, promiscuous: true },
    ...{ interfaces, packets: Number.POSITIVE_INFINITY, durationMs },
  })
  note(`Watching ${interfaces.join(', ')}; Ctrl-C ends it.`)
  const observer = new Observer({ config, trace, agent: hostname(), run: randomUUID(), onWindow: show })
  await watchLive(live, observer, { signal: stop.signal, durationMs })
  endWith(stop.exitCode() ?? exitCodes.done)
}
