/**
 * Capture files that are rotated by size or age. A file gets its name when the next one begins, or at the
 * end: until then it is `NAME.….part`, and older files of the name are complete.
 */
import { rmSync } from 'node:fs'
import { join, parse } from 'node:path'
import { type CaptureSink, type CaptureWriter, PcapngWriter, PcapWriter } from '../capture/index.ts'
import { fileSink, gzipSink, zstdSink } from '../files/index.ts'

export type TraceFormat = 'pcap' | 'pcapng'

export interface TraceFilesOptions {
  /** Path of the files; `-` is standard output. */
  readonly path: string
  readonly format: TraceFormat
  readonly compression: 'gzip' | 'zstd' | undefined
  readonly snapLength: number
  /** Bytes of packets in a file before compression, and its age, after which the next one begins; Infinity: no limit. */
  readonly mostBytes: number
  readonly mostMs: number
  /** Maximum number of files: the oldest is deleted beyond it. */
  readonly mostFiles: number
  readonly comment?: string
}

export interface TraceFile {
  readonly path: string
  readonly packets: number
}

/** Returns the format and compression that a file name implies. */
export function formatOf(path: string): { format: TraceFormat; compression: 'gzip' | 'zstd' | undefined } {
  const [, kind, end] = /\.(pcap|pcapng)(?:\.(gz|zst))?$/.exec(path) ?? []
  const compression = end === 'gz' ? 'gzip' : end === 'zst' ? 'zstd' : undefined
  return { format: kind === 'pcap' ? 'pcap' : 'pcapng', compression }
}

interface Described {
  readonly name: string
  readonly linkType: number
}

const inbound = { direction: 'inbound' } as const
const outbound = { direction: 'outbound' } as const
/** Bytes of a packet's record in the file, besides the packet. */
const recordBytes = 32

export class TraceFiles {
  readonly files: TraceFile[] = []
  /** Number of files deleted because there were more than `mostFiles`. */
  deleted = 0
  packets = 0
  readonly #options: TraceFilesOptions
  readonly #interfaces: Described[] = []
  #pcapng: PcapngWriter | undefined
  #writer: CaptureWriter | undefined
  #sink: CaptureSink | undefined
  #path = ''
  #number = 0
  #inFile = 0
  #bytes = 0
  #beganMs = 0

  constructor(options: TraceFilesOptions) {
    this.#options = options
  }

  get rotates(): boolean {
    return this.#options.mostBytes !== Number.POSITIVE_INFINITY || this.#options.mostMs !== Number.POSITIVE_INFINITY
  }

  /** Returns the number of the interface for `packet`. In pcap all must have the same link type; the caller ensures this. */
  addInterface(name: string, linkType: number): number {
    this.#interfaces.push({ name, linkType })
    if (this.#pcapng !== undefined) this.#describe(this.#pcapng, this.#interfaces.at(-1)!)
    return this.#interfaces.length - 1
  }

  packet(
    bytes: Uint8Array,
    offset: number,
    length: number,
    originalLength: number,
    seconds: number,
    nanoseconds: number,
    interfaceId: number,
    isOutbound: boolean | undefined,
  ): void {
    if (this.#bytes >= this.#options.mostBytes) this.#end()
    if (this.#writer === undefined) this.#begin()
    if (this.#pcapng === undefined)
      this.#writer!.packet(bytes, offset, length, seconds, nanoseconds, originalLength, interfaceId)
    else {
      const options = isOutbound === undefined ? undefined : isOutbound ? outbound : inbound
      this.#pcapng.packet(bytes, offset, length, seconds, nanoseconds, originalLength, interfaceId, options)
    }
    this.packets++
    this.#inFile++
    this.#bytes += length + recordBytes
  }

  /** Begins another file if this one is old enough; to be called from time to time. `nowMs`: `performance.now()`. */
  tick(nowMs: number): void {
    if (this.#writer !== undefined && nowMs - this.#beganMs >= this.#options.mostMs) this.#end()
  }

  /** Ends the last file; there is one even without packets. `dropped`: packets that were lost before they were passed to this object. */
  close(statistics: readonly { received: number; dropped: number }[] = []): void {
    if (this.#writer === undefined && this.files.length === 0) this.#begin()
    const writer = this.#pcapng
    if (writer !== undefined) for (const [id, one] of statistics.entries()) writer.statistics(id, Date.now(), one)
    this.#end()
  }

  /** Abandons the file after a write error: earlier data stays in place, where that is possible. */
  abandon(): void {
    try {
      this.#sink?.close?.()
    } catch {
      this.#sink?.abandon?.()
    }
    this.#writer = undefined
    this.#sink = undefined
  }

  #begin(): void {
    const { path, format, compression, snapLength, comment } = this.#options
    this.#path = this.rotates && path !== '-' ? numbered(path, ++this.#number) : path
    const sink = fileSink(this.#path)
    this.#sink = compression === 'gzip' ? gzipSink(sink) : compression === 'zstd' ? zstdSink(sink) : sink
    if (format === 'pcap') {
      const linkType = this.#interfaces[0]?.linkType
      this.#writer = new PcapWriter(this.#sink, { snapLength, ...(linkType !== undefined && { linkType }) })
    } else {
      const about = comment === undefined ? {} : { comment }
      this.#pcapng = new PcapngWriter(this.#sink, { application: 'verbena', os: process.platform, ...about })
      for (const one of this.#interfaces) this.#describe(this.#pcapng, one)
      this.#writer = this.#pcapng
    }
    this.#beganMs = performance.now()
    this.#inFile = 0
    this.#bytes = 0
  }

  #describe(writer: PcapngWriter, { name, linkType }: Described): void {
    writer.addInterface({ linkType, snapLength: this.#options.snapLength, ...(name !== '' && { name }) })
  }

  #end(): void {
    if (this.#writer === undefined) return
    const writer = this.#writer
    this.#writer = undefined
    this.#pcapng = undefined
    this.#sink = undefined
    writer.close()
    this.files.push({ path: this.#path, packets: this.#inFile })
    this.#bytes = 0
    if (this.files.length > this.#options.mostFiles) {
      rmSync(this.files.shift()!.path, { force: true })
      this.deleted++
    }
  }
}

/** `roce.pcap.gz` → `roce-00001.pcap.gz` */
function numbered(path: string, number: number): string {
  const { dir, base } = parse(path)
  const [, stem = base, end = ''] = /^(.*?)((?:\.pcap|\.pcapng)(?:\.gz|\.zst)?)?$/.exec(base) ?? []
  return join(dir, `${stem}-${String(number).padStart(5, '0')}${end}`)
}
