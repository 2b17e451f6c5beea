/** A trace from live interfaces, or from another capture, into files. */
import { CapturedPacket, type CaptureSource, LinkType } from '../capture/index.ts'
import { roceFilter, wholeFilter } from './filter-program.ts'
import { LiveCapture, type LiveInterface } from './live.ts'
import { type LeftOut, Selection, type SelectionOptions } from './selection.ts'
import { type TraceFile, TraceFiles, type TraceFilesOptions } from './trace-files.ts'

export interface TraceLimits {
  /** Number of packets, and milliseconds (less than 2^31), after which the trace ends; Infinity: no limit. */
  readonly packets: number
  readonly durationMs: number
}

export interface LiveTraceOptions extends SelectionOptions, TraceLimits {
  readonly interfaces: readonly string[]
  /** UDP ports of RoCEv2. */
  readonly udpPorts: readonly number[]
  readonly snapLength: number
  readonly ringBytes: number
  readonly promiscuous: boolean
}

export interface TraceResult {
  readonly packets: number
  readonly files: readonly TraceFile[]
  /** Number of old files that were deleted to make room. */
  readonly deletedFiles: number
  /** Interfaces of a live trace; otherwise empty. */
  readonly interfaces: readonly LiveInterface[]
  readonly leftOut: LeftOut
}

/** Maximum length of the headers of a packet: Ethernet with tags, IPv6 or IPv4 with options, UDP, BTH and its extensions. */
const mostHeaderBytes = 14 + 8 + 60 + 8 + 12 + 64
/** Maximum length of a management datagram with its headers; it is captured whole. */
const managementBytes = mostHeaderBytes + 256

/** Opens the interfaces; throws NativeError before any file is touched. */
export function openLive(options: LiveTraceOptions): LiveCapture {
  const { wanted, udpPorts, headersOnly, interfaces, ringBytes, promiscuous } = options
  const snapBytes = headersOnly ? Math.min(options.snapLength, managementBytes) : options.snapLength
  const filter =
    wanted === 'all'
      ? wholeFilter(snapBytes)
      : roceFilter({ v1: wanted !== 'v2', udpPorts: wanted === 'v1' ? [] : udpPorts, snapBytes })
  const isRoce = wanted === 'roce' || wanted === 'v2'
  return new LiveCapture({ interfaces, filter, ringBytes, promiscuous, ...(isRoce && { udpPorts }) })
}

/** Captures until the signal is aborted or a limit is reached. Then it closes the capture and the files. */
export async function traceLive(
  live: LiveCapture,
  options: LiveTraceOptions,
  filesOptions: TraceFilesOptions,
  signal: AbortSignal,
): Promise<TraceResult> {
  const files = new TraceFiles(filesOptions)
  const selection = new Selection(options)
  const { packets: most, durationMs, interfaces } = options
  for (const name of interfaces) files.addInterface(selection.nameOf(name), LinkType.Ethernet)
  const plain = selection.changesNothing
  const packet = new CapturedPacket()
  packet.linkType = LinkType.Ethernet
  packet.hasTime = true
  const endMs = performance.now() + durationMs
  try {
    await live.run(
      (bytes, ring, id) => {
        if (plain) {
          const { offset, length, originalLength, seconds, nanoseconds, outbound } = ring
          files.packet(bytes, offset, length, originalLength, seconds, nanoseconds, id, outbound)
          return files.packets < most
        }
        packet.bytes = bytes
        packet.offset = ring.offset
        packet.length = ring.length
        packet.originalLength = ring.originalLength
        packet.seconds = ring.seconds
        packet.nanoseconds = ring.nanoseconds
        packet.interfaceId = id
        write(files, selection.take(packet, true), id, ring.outbound)
        return files.packets < most
      },
      signal,
      () => {
        const nowMs = performance.now()
        files.tick(nowMs)
        return nowMs < endMs && files.packets < most
      },
    )
    const statistics = live.statistics()
    files.close(statistics)
    return resultOf(files, selection, statistics)
  } catch (error) {
    files.abandon()
    throw error
  } finally {
    live.close()
  }
}

/** Error of a trace with several link types: a pcap file has one for all its packets. */
class LinkTypesError extends Error {
  override readonly name = 'UsageError'
}

/** Copies the selected packets of another capture. The caller reports the `damage` of the parser. */
export async function traceFrom(
  source: CaptureSource,
  options: SelectionOptions & TraceLimits,
  filesOptions: TraceFilesOptions,
  signal: AbortSignal,
): Promise<TraceResult & { damage: Awaited<ReturnType<CaptureSource['read']>>['damage']; format: string | undefined }> {
  const files = new TraceFiles(filesOptions)
  const selection = new Selection(options)
  const ids: number[] = []
  const { packets: most, durationMs } = options
  const enough = new AbortController()
  // A source may have no data for a long time.
  const timer = Number.isFinite(durationMs) ? setTimeout(() => enough.abort(), durationMs) : undefined
  let linkType: number | undefined
  try {
    const parser = await source.read(
      (packet, { interfaces }) => {
        for (let id = ids.length; id < interfaces.length; id++) {
          const info = interfaces[id]!
          linkType ??= info.linkType
          if (filesOptions.format === 'pcap' && info.linkType !== linkType)
            throw new LinkTypesError('the capture has several link types, and a pcap file only one: write pcapng')
          ids.push(files.addInterface(selection.nameOf(info.name ?? ''), info.linkType))
        }
        write(files, selection.take(packet, false), ids[packet.interfaceId]!, undefined)
        if (files.rotates) files.tick(performance.now())
        return files.packets < most
      },
      { ...options, signal: AbortSignal.any([signal, enough.signal]) },
    )
    files.close()
    return { ...resultOf(files, selection, []), damage: parser.damage, format: parser.format }
  } catch (error) {
    files.abandon()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function write(files: TraceFiles, kept: CapturedPacket | undefined, id: number, outbound: boolean | undefined): void {
  if (kept === undefined) return
  const { bytes, offset, length, originalLength, seconds, nanoseconds } = kept
  files.packet(bytes, offset, length, originalLength, seconds, nanoseconds, id, outbound)
}

function resultOf(files: TraceFiles, { leftOut }: Selection, interfaces: readonly LiveInterface[]): TraceResult {
  return { packets: files.packets, files: files.files, deletedFiles: files.deleted, interfaces, leftOut }
}
