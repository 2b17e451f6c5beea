/** Files that are changed by size and time, and what is written at their ends. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, expect, it } from 'vitest'
import { LinkType } from '../../src/capture/index.ts'
import { traceFrom } from '../../src/collect/collect-trace.ts'
import { formatOf, TraceFiles, type TraceFilesOptions } from '../../src/collect/trace-files.ts'
import { canWriteZstd, fileSource, streamSource } from '../../src/files/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-files-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function filesOf(name: string, more: Partial<TraceFilesOptions> = {}): TraceFiles {
  const files = new TraceFiles({
    ...{ path: join(folder, name), ...formatOf(name), snapLength: 262_144, mostBytes: Number.POSITIVE_INFINITY },
    ...{ mostMs: Number.POSITIVE_INFINITY, mostFiles: Number.POSITIVE_INFINITY, ...more },
  })
  files.addInterface('eth0', LinkType.Ethernet)
  return files
}

function add(files: TraceFiles, count: number, length = 100): void {
  for (let i = 0; i < count; i++)
    files.packet(new Uint8Array(length).fill(i), 0, length, length + 4, 1000 + i, i, 0, i % 2 === 0)
}

async function packetsOf(path: string): Promise<{ packets: number; dropped: number | undefined }> {
  const parser = await fileSource(path).read(() => undefined)
  expect(parser.damage.list).toEqual([])
  return { packets: parser.packet.number, dropped: parser.interfaces[0]?.dropped }
}

it('a trace ends in time although its source gives nothing', async () => {
  const options = { wanted: 'roce', headersOnly: false, decodeAs: new Map(), packets: 5, durationMs: 1 } as const
  const path = join(folder, 'idle.pcapng')
  const limits = { mostBytes: Number.POSITIVE_INFINITY, mostMs: Number.POSITIVE_INFINITY, mostFiles: 1 }
  const never = new AbortController().signal
  const silent = streamSource(new PassThrough())
  const { packets } = await traceFrom(silent, options, { path, ...formatOf(path), snapLength: 100, ...limits }, never)
  expect([packets, await packetsOf(path)]).toEqual([0, { packets: 0, dropped: undefined }])
})

it('says by its name what a file is', () => {
  expect(formatOf('a.pcap')).toEqual({ format: 'pcap', compression: undefined })
  expect(formatOf('a.pcap.gz')).toEqual({ format: 'pcap', compression: 'gzip' })
  expect(formatOf('a.pcapng.zst')).toEqual({ format: 'pcapng', compression: 'zstd' })
  expect(formatOf('a.dump')).toEqual({ format: 'pcapng', compression: undefined })
})

it.each(['one.pcap', 'one.pcapng', 'one.pcap.gz', 'one.pcapng.gz', ...(canWriteZstd ? ['one.pcapng.zst'] : [])])(
  '%s can be read again',
  async (name) => {
    const files = filesOf(name)
    add(files, 10)
    files.close([{ received: 15, dropped: 5 }])
    expect(files.files).toEqual([{ path: join(folder, name), packets: 10 }])
    const { packets, dropped } = await packetsOf(join(folder, name))
    expect([packets, dropped]).toEqual([10, name.includes('pcapng') ? 5 : undefined])
  },
)

it('begins another file when one is large, and deletes the oldest', async () => {
  const files = filesOf('many.pcap', { mostBytes: 1000, mostFiles: 3 })
  add(files, 50)
  files.close()
  const names = readdirSync(folder).filter((name) => name.startsWith('many'))
  expect(names).toEqual(['many-00005.pcap', 'many-00006.pcap', 'many-00007.pcap'])
  expect([files.deleted, files.packets]).toEqual([4, 50])
  const counts = await Promise.all(names.map(async (name) => (await packetsOf(join(folder, name))).packets))
  expect(counts).toEqual([8, 8, 2])
})

it('begins another file when one is old', () => {
  const files = filesOf('old.pcapng.gz', { mostMs: 1000 })
  add(files, 2)
  files.tick(performance.now())
  add(files, 2)
  files.tick(performance.now() + 1500)
  add(files, 1)
  files.close()
  expect(files.files.map(({ path, packets }) => [path.slice(folder.length + 1), packets])).toEqual([
    ['old-00001.pcapng.gz', 4],
    ['old-00002.pcapng.gz', 1],
  ])
})

it('makes a file of nothing, and keeps what is there after a failure', async () => {
  filesOf('empty.pcapng').close()
  expect((await packetsOf(join(folder, 'empty.pcapng'))).packets).toBe(0)
  const files = filesOf('failed.pcap')
  add(files, 5000)
  files.abandon()
  expect(readFileSync(join(folder, 'failed.pcap')).length).toBeGreaterThan(200_000)
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
  files.abandon()
})
