/** `verbena collect session`, which `verbena collect --out DIR` is as well. */
import type { Command } from 'commander'
import { currentRun, endWith, exitCodes, interruptible, note, printJson, version } from '../../cli/terminal/index.ts'
import {
  type LiveTraceOptions,
  openLive,
  SessionFolder,
  type TraceFilesOptions,
  type TraceResult,
  traceLive,
} from '../../collect/index.ts'
import { nativeCrc32 } from '../../memory/index.ts'
import { useCrc32 } from '../../trace/index.ts'
import { choiceOption, parseNumber, UsageError } from '../kit/index.ts'
import { interfacesOf } from '../trace-kit/index.ts'
import { noteProblems, readsTree, rootOf, waitUntil } from './source.ts'
import { addTraceOptions, filesOptions, report, type TraceCommandOptions, traceOptions } from './trace.ts'

const help = `
The folder gets
  session.json      host, time and command; RoCE settings; the traces with their counts
  counters.jsonl    a reading of all counters on each line, with rates
  trace.pcapng      the packets; several files if they are rotated
\`verbena trace\` takes the folder in place of a capture. With --anonymise, none of these files has the name of the host, the
command line or the GUIDs of adapters, and their addresses are mapped in the same way as those of the packets.

Without -i, packets come from the interfaces of RDMA devices; if there are none, there is no trace. If packets may not be
captured, the counters are collected all the same, and the exit code is 1.

Examples:
  verbena collect session --out monday --duration 60
  verbena collect session --out monday -i eth0 --interval 0.1 --headers --anonymise`

interface Options extends TraceCommandOptions {
  out?: string
  interval?: string
  duration?: string
  compress?: 'gzip' | 'zstd' | 'none'
  trace: boolean
  sysfsRoot?: string
  json?: boolean
}

export function configure(command: Command): void {
  readsTree(addTraceOptions(command))
    .description('Collect counters, RoCE settings and a trace into a folder.')
    .option('-o, --out <dir>', 'the folder, which is made (default: it has to be named)')
    .option('--interval <seconds>', 'time between readings of the counters (default: 1)')
    .option('--duration <seconds>', 'end after so long')
    .addOption(choiceOption('--compress <how>', 'compression of the trace', ['none', 'gzip', 'zstd']).default('none'))
    .option('--no-trace', 'no packets')
    .option('--json', 'print the summary as one JSON document')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      if (options.out === undefined)
        throw new UsageError('--out', 'which folder? For example: verbena collect --out monday')
      const intervalMs = parseNumber('--interval', options.interval, 1, 0.01, 86_400) * 1000
      const durationMs = parseNumber('--duration', options.duration, Number.POSITIVE_INFINITY, 0.001, 1e7) * 1000
      const host = rootOf(options.sysfsRoot)
      const end = { none: '', gzip: '.gz', zstd: '.zst' }[options.compress ?? 'none']
      const probe = filesOptions(`trace.pcapng${end}`, options)
      const interfaces = host.root === undefined && options.trace ? chosenInterfaces(options.interface) : []
      const trace = { ...traceOptions(options), packets: Number.POSITIVE_INFINITY, durationMs, interfaces }
      const folder = makeFolder(options.out, host, trace.anonymiseKey)
      useCrc32(nativeCrc32())
      const stop = interruptible('')
      try {
        const { result, failure } = await collect(
          folder,
          { trace, files: { ...probe, path: folder.tracePath(end) }, intervalMs },
          stop.signal,
        )
        if (result !== undefined) report(result, false)
        note(`${folder.readings} readings of the counters`)
        if (options.json) printJson({ folder: folder.path, readings: folder.readings, trace: result ?? null })
        endWith(stop.exitCode() ?? (failure === undefined ? exitCodes.done : exitCodes.failed))
      } finally {
        stop.dispose()
      }
    })
}

interface Collecting {
  trace: LiveTraceOptions
  files: TraceFilesOptions
  intervalMs: number
}

/** Collects until the signal is aborted, or the duration is over. `failure`: reason why there is no trace although there are interfaces. */
async function collect(
  folder: SessionFolder,
  { trace, files, intervalMs }: Collecting,
  signal: AbortSignal,
): Promise<{ result: TraceResult | undefined; failure: string | undefined }> {
  const { interfaces, durationMs } = trace
  const done = new AbortController()
  let failure: string | undefined
  let packets: Promise<TraceResult> | undefined
  try {
    if (interfaces.length > 0) packets = traceLive(openLive(trace), trace, files, signal)
  } catch (error) {
    failure = (error as Error).message
    note(`There is no trace: ${failure}`)
  }
  note(`Collecting into ${folder.path}${packets ? `, packets of ${interfaces.join(', ')}` : ''}; Ctrl-C ends it.`)
  const counters = readCounters(folder, intervalMs, durationMs, AbortSignal.any([signal, done.signal]))
  const result = await packets
    ?.catch((error: Error) => {
      failure = error.message
      note(`The trace ends: ${failure}`)
      return undefined
    })
    .finally(() => done.abort())
  await counters
  folder.end(result, failure)
  return { result, failure }
}

function chosenInterfaces(names: string | undefined): string[] {
  try {
    return interfacesOf(names)
  } catch (error) {
    if (names !== undefined) throw error
    note(`There is no trace: ${(error as Error).message}`)
    return []
  }
}

function makeFolder(path: string, host: { root?: string }, anonymiseKey: Uint8Array | undefined): SessionFolder {
  try {
    const about = { version, command: currentRun().argv }
    return new SessionFolder(path, host, anonymiseKey === undefined ? about : { ...about, anonymiseKey })
  } catch (error) {
    throw new UsageError('--out', (error as Error).message)
  }
}

async function readCounters(
  folder: SessionFolder,
  intervalMs: number,
  durationMs: number,
  signal: AbortSignal,
): Promise<void> {
  const startMs = performance.now()
  const told = new Set<string>()
  for (let n = 0; n === 0 || (n * intervalMs <= durationMs && !signal.aborted); n++) {
    await waitUntil(startMs + n * intervalMs, signal)
    if (n > 0 && signal.aborted) break
    const { problems } = await folder.read()
    const fresh = problems.filter(({ path, what }) => !told.has(`${path} ${what}`))
    for (const { path, what } of fresh) told.add(`${path} ${what}`)
    noteProblems(fresh)
  }
}
