/** `verbena trace page` */
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { Command } from 'commander'
import { compressionOf } from '../../capture/index.ts'
import { note, print, printJson, printPart } from '../../cli/terminal/index.ts'
import { canWriteZstd, fileSink, streamSource } from '../../files/index.ts'
import { sizeText } from '../../text/index.ts'
import { bytesSource, checkCapture } from '../../trace/index.ts'
import { openInBrowser, UsageError, wantsBrowser } from '../kit/index.ts'
import { mustBeCapture, noteDamage } from '../trace-kit/index.ts'
import { type EmbeddedCapture, tracePage } from './page-document.ts'

/** Maximum bytes of compressed captures in a page: it grows by a third more, and is often sent by mail. */
const mostEmbeddedBytes = 32 * 2 ** 20
/** Maximum bytes of a file that is read to find out how well it compresses. */
const mostReadBytes = 1024 * 2 ** 20

const help = `
The page is one file that needs no server, no network and no installation: open it in a browser and drop a capture into it
(pcap or pcapng, plain, gzip or zstd, also of gigabytes). A worker of the browser analyses it with the code of the other trace
commands: conversations, a diagram of PSNs over time, latencies, ICRC verdicts, filters as of trace show, packets field by field.
Nothing leaves the machine: the page's policy permits no request.

With captures the page contains them and shows the first one at once, so that a single file can be passed on. Together they may
have ${sizeText(mostEmbeddedBytes)} when compressed. The page then contains all packets, including payloads: verbena collect
trace --anonymise makes captures without payloads.

Examples:
  verbena trace page
  verbena trace page roce.pcap -o lossy-link.html
  verbena trace page before.pcapng.gz after.pcapng.gz -o comparison.html`

interface Options {
  out: string
  open?: string | boolean
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Write a page that analyses captures in the browser: one HTML file, with a capture in it or without.')
    .argument('[files...]', 'captures to put into the page; - for standard input')
    .option('-o, --out <file>', 'the page to write; - for standard output', 'trace.html')
    .option('--open [yes|no]', 'open it in the browser (default: no)')
    .option('--json', 'print the path of the page as one JSON document')
    .addHelpText('after', help)
    .action(async (files: string[], options: Options) => {
      wantsBrowser(options.open)
      const { out } = options
      const captures: EmbeddedCapture[] = []
      for (const file of files) captures.push(await embeddedCapture(file))
      const bytes = captures.reduce((sum, { bytes: { length } }) => sum + length, 0)
      if (bytes > mostEmbeddedBytes)
        throw new UsageError(files.join(' '), tooLarge(`${sizeText(bytes)} when compressed`))
      const page = tracePage(captures)
      if (captures.length > 0) note(`${sizeText(bytes)} of captures are in the page, payloads included.`)
      if (out === '-') {
        printPart(page)
        return
      }
      const sink = fileSink(out)
      sink.write(new TextEncoder().encode(page))
      sink.close?.()
      if (options.json) printJson({ files: [out] })
      else print(out)
      openInBrowser(options.open, out)
    })
}

/** Returns the capture, compressed if it is not yet. Throws a UsageError if it is not a capture, or too large to be read. */
async function embeddedCapture(file: string): Promise<EmbeddedCapture> {
  if (file !== '-') {
    const info = statSync(file, { throwIfNoEntry: false })
    if (info === undefined) throw new UsageError(file, 'there is no such file. Expected a capture')
    if (info.isDirectory()) throw new UsageError(file, 'is a directory. Expected a capture')
    if (info.size > mostReadBytes) throw new UsageError(file, tooLarge(sizeText(info.size)))
  }
  const bytes = readFileSync(file === '-' ? 0 : file)
  const name = file === '-' ? 'standard input' : basename(file)
  const compression = compressionOf(bytes)
  if (compression !== undefined) {
    if (bytes.length <= mostEmbeddedBytes && (compression === 'gzip' || canWriteZstd)) await mustBegin(file, bytes)
    return { name, bytes }
  }
  const result = await checkCapture(bytesSource(bytes), { checkIcrc: false })
  mustBeCapture(file, result)
  noteDamage(result)
  return { name, bytes: gzipSync(bytes) }
}

/** Checks only the beginning of a compressed capture: all of it may be much. */
async function mustBegin(file: string, bytes: Uint8Array): Promise<void> {
  const { format, damage } = await streamSource(Readable.from([bytes])).read(() => false)
  mustBeCapture(file, { format, damage: damage.list })
}

function tooLarge(size: string): string {
  return `${size}: a page may hold ${sizeText(mostEmbeddedBytes)}. Make the page without it and drop the capture into it, or embed a part: verbena trace convert`
}
