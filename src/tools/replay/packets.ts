/** `verbena replay packets` */
import type { Command } from 'commander'
import { endIfClosedPipe, endWith, note, printJson } from '../../cli/terminal/index.ts'
import { fileSink, gzipSink, isSameFile } from '../../files/index.ts'
import {
  type BadPolicy,
  badPolicies,
  CaptureCopy,
  type Mapping,
  Pacer,
  type PacketOut,
  type PacketReplayOptions,
  type PacketReplayResult,
  replayPackets,
} from '../../replay/index.ts'
import { type CaptureSource, parseFilter } from '../../trace/index.ts'
import { choiceOption, UsageError } from '../kit/index.ts'
import {
  captureFile,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  noteIfNothing,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
} from '../trace-kit/index.ts'
import { addMappingOptions, mappingsGiven } from './mapping-options.ts'
import { type PaceOptions, paceOf } from './pace.ts'
import { type PacketReport, printReport, type Report, reportOf } from './report.ts'

const help = `
There is one target: --to writes a capture (its time stamps follow --speed, --pps or --rate), --interface sends the frames through an
interface (needs CAP_NET_RAW), --udp sends the packets from the BTH on as datagrams to a host, with the ICRC for the addresses of both
hosts: this needs no privilege, and Verbena's roce adapter, rdma_rxe or any other adapter receives them.

The ICRC is computed again. For damaged packets, keep leaves the ICRC wrong, drop leaves the packets out, and mend makes all
checksums right and writes zeros where the capture was truncated. All mappings apply to the captured values: A=B and B=A swap.
Numbers are decimal or 0x…. A mapping that matches no packet is reported.

Examples:
  verbena replay packets roce.pcap --to lab.pcap --ip 10.77.0.0/24=192.168.7.0/24 --qpn 0x11=0x200 --psn 0x200=+1000
  verbena replay packets roce.pcap --interface eth0 --map lab.map --speed 2x
  verbena replay packets roce.pcap --udp 10.0.0.9 --filter 'dst == 10.77.0.2' --qpn 0x11@10.77.0.2=0x200 --pps 50k
  verbena replay packets headers-only.pcap --to whole.pcapng --bad mend`

interface Options extends ReadOptions, PaceOptions {
  to?: string
  interface?: string
  udp?: string
  bad?: BadPolicy
  others?: boolean
  filter?: string
  json?: boolean
}

export function configure(command: Command): void {
  readsCapture(command)
    .description('Replay the packets of a capture, rewritten, into a file, through an interface or to a host.')
    .option('--to <file>', 'a capture: .pcap or .pcapng, compressed if .gz follows; - for standard output')
    .option('-i, --interface <name>', 'a network interface of this host')
    .option('--udp <host[:port]>', 'datagrams to a host; port 4791 unless given')
  addMappingOptions(command)
  command
    .option('-f, --filter <expr>', 'only packets for which this is true: see verbena trace show --help')
    .addOption(choiceOption('--bad <what>', 'damaged packets: keep, drop, mend (default: keep)', badPolicies))
    .option('--others', 'packets that are not RDMA, too; only --mac changes them')
    .option('--speed <factor>', 'of the captured time: 2x is twice as fast, top as fast as it goes (default: 1x)')
    .option('--pps <number>', 'packets per second, whatever their times are: 100k')
    .option('--rate <bits>', 'bits per second of whole frames: 10G')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help)
    .action(async (file: string, options: Options) => {
      const targets = [options.to, options.interface, options.udp].filter((one) => one !== undefined)
      if (targets.length !== 1) throw new UsageError('--to', 'exactly one of --to, --interface and --udp is needed')
      const stop = stopOnInterrupt()
      const mappings = mappingsGiven(command)
      const reading: PacketReplayOptions = {
        ...readingOf(options, stop),
        mappings,
        bad: options.bad ?? 'keep',
        others: options.others ?? false,
        ...(options.filter !== undefined && { filter: parseFilter(options.filter) }),
      }
      const pacer = new Pacer(paceOf(options))
      const source = captureFile(file)
      const report =
        options.to === undefined
          ? await (await import('./to-wire.ts')).toWire(source, reading, options, pacer, stop.signal)
          : await toFile(file, source, reading, options.to, pacer, options.speed === 'top')
      stop.dispose()
      const { parser } = report.result
      const damage = { format: parser.format, damage: parser.damage.list, damageCount: parser.damage.count }
      mustBeCapture(file, damage)
      const unused = mappings.filter(({ hits }) => hits === 0)
      if (options.json) printJson(json(report, unused))
      else if (options.to === '-') note(`${report.sent} packets written`)
      else printReport(report)
      for (const { kind, text } of unused) note(`--${kind} ${text}: no packet has it`)
      noteIfNothing({ packets: report.counts.packets, roce: report.counts.rdma })
      noteDamage(damage)
      const { counts } = report
      endWith(exitCodeOf(stop, parser.damage.count > 0 || counts.rdma === 0 || report.rejected + report.unsendable > 0))
    })
}

function json({ result: _, ...report }: PacketReport & { result: PacketReplayResult }, unused: Mapping[]): unknown {
  return { ...report, unused: unused.map(({ kind, text }) => `${kind} ${text}`) }
}

async function toFile(
  input: string,
  source: CaptureSource,
  reading: PacketReplayOptions,
  output: string,
  pacer: Pacer,
  asCaptured: boolean,
): Promise<Report> {
  if (isSameFile(input, output)) throw new UsageError(output, 'the file that is read: write to another one')
  const sink = output.endsWith('.gz') ? gzipSink(fileSink(output)) : fileSink(output)
  const format = /\.pcap(\.gz)?$/.test(output) ? 'pcap' : 'pcapng'
  let bytes = 0
  let first: { seconds: number; nanoseconds: number } | undefined
  try {
    const copy = new CaptureCopy(sink, { format })
    const out: PacketOut = (packet, _d, parser) => {
      bytes += packet.length
      const { seconds, nanoseconds } = packet
      if (asCaptured) return copy.packet(packet, parser.interfaces)
      first ??= { seconds, nanoseconds }
      const ns = first.nanoseconds + Math.round(pacer.dueNs(seconds, nanoseconds, packet.originalLength))
      copy.packet(packet, parser.interfaces, first.seconds + Math.floor(ns / 1e9), ns % 1e9)
    }
    const result = await replayPackets(source, reading, out)
    if (result.parser.format === undefined) sink.abandon?.()
    else copy.close()
    return reportOf('file', output, result, { sent: copy.written, bytes })
  } catch (error) {
    sink.abandon?.()
    if (output === '-') endIfClosedPipe(error)
    throw error
  }
}
