/** `verbena collect trace` */
import { existsSync, readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import {
  endIfClosedPipe,
  endWith,
  exitCodes,
  type Interruption,
  interruptible,
  note,
  printJson,
} from '../../cli/terminal/index.ts'
import {
  formatOf,
  type LiveTraceOptions,
  openLive,
  randomKey,
  type TraceFilesOptions,
  type TraceResult,
  traceFrom,
  traceLive,
  type Wanted,
} from '../../collect/index.ts'
import { canWriteZstd, fileSource } from '../../files/index.ts'
import { nativeCrc32 } from '../../memory/index.ts'
import { describeDamage, useCrc32 } from '../../trace/index.ts'
import { choiceOption, parseInteger, parseNumber, UsageError } from '../kit/index.ts'
import { interfacesOf, tapCommand } from '../trace-kit/index.ts'

const help = `
Sources: interfaces of this host (-i), which needs the capability CAP_NET_RAW; a capture in a file or from standard input (-r);
or the packets of a command that uses Verbena's own roce devices (after --), which ends with the trace.
A filter in the kernel selects packets: roce (the default) is RoCEv1 (Ethertype 0x8915) and RoCEv2 (UDP 4791), also with
VLAN tags; from a capture that is read, also native InfiniBand. The packets of adapters that implement RoCE in hardware do not pass
through an interface of the kernel: mirror the port at the switch, or read the output of the adapter's own sniffer.

The name of the file determines its format: .pcap or .pcapng, compressed if .gz or .zst (Node.js 22.15) follows. Rotated files are
numbered. A file gets its name when it is complete. Packets for which the kernel had no room are counted; the count is printed, and
written to a pcapng file.

--headers keeps the headers before the payload, and complete management datagrams. --anonymise maps MAC and IP addresses, GIDs, LIDs,
P_Keys, Q_Keys, R_Keys and virtual addresses with a key, each always to the same one, IP addresses with their prefixes; payload,
immediate data and atomic operands are zeros; the ICRC is computed again, and is wrong where it was wrong. The same file of
--anonymise-key gives the same mapping at other hosts. Packets that are not RDMA, or in tunnels, are left out.

Exit code 1 if the source is damaged or the command fails.

Examples:
  verbena collect trace -i eth0 -w roce.pcapng
  verbena collect trace -i any -w roce.pcapng
  verbena collect trace -i eth0,eth1 -w roce.pcap --rotate-size 100 --rotate-files 10 --headers
  ssh host tcpdump -i eth0 -w - | verbena collect trace -r - -w roce.pcapng.gz --anonymise
  verbena collect trace -w own.pcapng -- node program.js`

/** Options that choose the packets that are kept, and the files that they go to. */
export interface TraceCommandOptions {
  interface?: string
  filter: Wanted
  rocePort?: string
  snapLength?: string
  headers?: boolean
  anonymise?: boolean
  anonymiseKey?: string
  rotateSize?: string
  rotateTime?: string
  rotateFiles?: string
  buffer?: string
  promiscuous: boolean
}

interface Options extends TraceCommandOptions {
  read?: string
  write?: string
  count?: string
  duration?: string
  json?: boolean
}

/** Adds the options that choose the packets and the files; `verbena collect session` has them, too. */
export function addTraceOptions(command: Command): Command {
  return command
    .option('-i, --interface <names>', 'interfaces, with commas between them, or any (default: those of RDMA devices)')
    .addOption(
      choiceOption('--filter <what>', 'roce, v1, v2, or all packets', ['roce', 'v1', 'v2', 'all']).default('roce'),
    )
    .option('--roce-port <ports>', 'UDP ports of RoCEv2, with commas between them (default: 4791)')
    .option('-s, --snap-length <bytes>', 'bytes of each packet that are kept (default: 262144)')
    .option('--headers', 'headers only, and management datagrams')
    .option('--anonymise', 'map addresses and keys, without payload')
    .option('--anonymise-key <file>', 'the same, with the contents of this file as the key (default: a random one)')
    .option('--rotate-size <MB>', 'begin another file after this number of million bytes (default: never)')
    .option('--rotate-time <seconds>', 'begin another file after this time (default: never)')
    .option('--rotate-files <count>', 'delete the oldest file when there are more (default: keep all)')
    .option('--buffer <MiB>', 'room for packets that have not been written yet, of each interface (default: 64)')
    .option('--no-promiscuous', 'no frames for other hosts')
}

export function configure(command: Command): void {
  addTraceOptions(command)
    .description('Capture RoCE packets into pcap or pcapng files.')
    .argument('[command...]', 'a command whose roce devices are captured, after --')
    .option('-r, --read <file>', 'a capture to read instead; - for standard input (default: interfaces)')
    .option('-w, --write <file>', 'the file to write; - for standard output (default: roce-DATE-TIME.pcapng)')
    .option('-c, --count <packets>', 'end after this number of packets (default: at Ctrl-C)')
    .option('--duration <seconds>', 'end after so long')
    .addOption(new Option('--json', 'print what was captured as one JSON document'))
    .addHelpText('after', help)
    .action(async (program: string[], options: Options) => {
      const path = options.write ?? `roce-${stamp(new Date())}.pcapng`
      if (path === '-' && options.json) throw new UsageError('--json', 'standard output has the packets')
      const sources = [options.interface, options.read, program[0]].filter((source) => source !== undefined)
      if (sources.length > 1)
        throw new UsageError('-i', 'packets come from interfaces, from a capture or from a command: choose one')
      const files = filesOptions(path, options)
      useCrc32(nativeCrc32())
      // A capture from interfaces runs until it is interrupted.
      const stop = interruptible('', { isService: sources.length === 0 || options.interface !== undefined })
      try {
        if (program.length > 0) await ofCommand(program, options, files, stop)
        else if (options.read !== undefined) await fromFile(options.read, options, files, stop)
        else await live(options, files, stop)
      } catch (error) {
        if (path === '-') endIfClosedPipe(error)
        throw error
      } finally {
        stop.dispose()
      }
    })
}

/** `20261123-070531` */
function stamp(time: Date): string {
  return time
    .toISOString()
    .replace(/[-:]|\..*/g, '')
    .replace('T', '-')
}

export function filesOptions(path: string, options: TraceCommandOptions): TraceFilesOptions {
  const { format, compression } = formatOf(path)
  if (compression === 'zstd' && !canWriteZstd)
    throw new UsageError('-w', `Node.js ${process.versions.node} cannot write zstd (22.15 can): use .gz`)
  const megabytes = parseNumber('--rotate-size', options.rotateSize, Number.POSITIVE_INFINITY, 0.001, 1e6)
  const seconds = parseNumber('--rotate-time', options.rotateTime, Number.POSITIVE_INFINITY, 0.01, 1e7)
  const mostFiles = parseInteger('--rotate-files', options.rotateFiles, Number.POSITIVE_INFINITY, 1, 1e6)
  const rotates = options.rotateSize !== undefined || options.rotateTime !== undefined
  if (options.rotateFiles !== undefined && !rotates)
    throw new UsageError('--rotate-files', 'needs --rotate-size or --rotate-time')
  if (rotates && path === '-') throw new UsageError('-w', 'standard output cannot be rotated')
  return {
    ...{ path, format, compression, mostFiles, mostBytes: megabytes * 1e6, mostMs: seconds * 1000 },
    snapLength: parseInteger('-s', options.snapLength, 262_144, 1, 262_144),
  }
}

export function traceOptions(
  options: TraceCommandOptions,
): Omit<LiveTraceOptions, 'interfaces' | 'packets' | 'durationMs'> {
  const udpPorts = options.rocePort?.split(',').map((text) => parseInteger('--roce-port', text, 4791, 1, 65_535))
  const key = keyOf(options)
  return {
    wanted: options.filter,
    udpPorts: udpPorts ?? [4791],
    decodeAs: new Map((udpPorts ?? []).map((port) => [port, 'roce'])),
    headersOnly: options.headers === true,
    snapLength: parseInteger('-s', options.snapLength, 262_144, 1, 262_144),
    ringBytes: parseInteger('--buffer', options.buffer, 64, 2, 4096) * 2 ** 20,
    promiscuous: options.promiscuous,
    ...(key !== undefined && { anonymiseKey: key }),
  }
}

function limitsOf({ count, duration }: Options): { packets: number; durationMs: number } {
  return {
    packets: parseInteger('-c', count, Number.POSITIVE_INFINITY, 1, Number.MAX_SAFE_INTEGER),
    durationMs: parseNumber('--duration', duration, Number.POSITIVE_INFINITY, 0.001, 2e6) * 1000,
  }
}

function keyOf({ anonymise, anonymiseKey }: TraceCommandOptions): Uint8Array | undefined {
  if (anonymiseKey === undefined) return anonymise ? randomKey() : undefined
  try {
    const key = readFileSync(anonymiseKey)
    if (key.length >= 16) return key
  } catch (error) {
    throw new UsageError(
      '--anonymise-key',
      `'${anonymiseKey}' cannot be read (${(error as NodeJS.ErrnoException).code})`,
    )
  }
  throw new UsageError(
    '--anonymise-key',
    `'${anonymiseKey}' is too short: 16 bytes at least, for example of /dev/urandom`,
  )
}

async function live(options: Options, files: TraceFilesOptions, stop: Interruption): Promise<void> {
  const trace = { ...traceOptions(options), ...limitsOf(options), interfaces: interfacesOf(options.interface) }
  const capture = openLive(trace)
  note(`Capturing from ${trace.interfaces.join(', ')}; Ctrl-C ends it.`)
  const result = await traceLive(capture, trace, files, stop.signal)
  report(result, options.json === true)
  endWith(stop.exitCode() ?? exitCodes.done)
}

async function fromFile(file: string, options: Options, files: TraceFilesOptions, stop: Interruption): Promise<void> {
  if (file !== '-' && !existsSync(file)) throw new UsageError('-r', `there is no file '${file}'`)
  const trace = { ...traceOptions(options), ...limitsOf(options) }
  const { damage, format, ...result } = await traceFrom(fileSource(file), trace, files, stop.signal)
  if (format === undefined && damage.count > 0) throw new UsageError('-r', `${damage.list[0]!.what}`)
  report(result, options.json === true)
  for (const one of damage.list.slice(0, 10)) note(`The capture is damaged: ${describeDamage(one)}`)
  endWith(stop.exitCode() ?? (damage.count > 0 ? exitCodes.failed : exitCodes.done))
}

async function ofCommand(
  program: readonly string[],
  options: Options,
  files: TraceFilesOptions,
  stop: Interruption,
): Promise<void> {
  const trace = { ...traceOptions(options), ...limitsOf(options) }
  // After an interruption, too, the trace ends with the command.
  const { signal } = new AbortController()
  const { result, code, wasEnded } = await tapCommand(program, stop, (packets) =>
    traceFrom(packets, trace, files, signal),
  )
  const { damage: _damage, format, ...captured } = result
  if (format === undefined) note('No roce device of the command passed a packet.')
  report(captured, options.json === true)
  if (wasEnded) note('The command was ended: the trace has all that it was to have.')
  else if (code !== 0) note(`The command ended with ${code ?? 'a signal'}.`)
  endWith(stop.exitCode() ?? (wasEnded || code === 0 ? exitCodes.done : exitCodes.failed))
}

export function report(result: TraceResult, json: boolean): void {
  const { packets, files, interfaces, leftOut, deletedFiles } = result
  if (json) printJson({ packets, files, deletedFiles, interfaces, leftOut })
  const dropped = interfaces.reduce((sum, one) => sum + one.dropped, 0)
  const names = files.map(({ path }) => (path === '-' ? 'standard output' : path))
  const where = names.length > 3 ? `${names[0]} … ${names.at(-1)} (${names.length} files)` : names.join(', ')
  note(`${packets} packets captured${where === '' ? '' : ` into ${where}`}`)
  if (dropped > 0) note(`${dropped} packets dropped by the kernel: there was no room for them. --buffer gives more`)
  for (const { name, downs } of interfaces)
    if (downs > 0) note(`${name} went down ${downs === 1 ? 'once' : `${downs} times`}`)
  if (deletedFiles > 0) note(`${deletedFiles} older files deleted (--rotate-files)`)
  if (leftOut.other > 0) note(`${leftOut.other} packets left out: other traffic (--filter all keeps them)`)
  if (leftOut.unmappable > 0)
    note(`${leftOut.unmappable} packets left out: they cannot be anonymised (in tunnels, or no RDMA)`)
}
