/** Readers of files take as much work for each byte of a large file as of a small one, whatever is in it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { LinkLayer, LinkType, locate, located } from '../src/capture/index.ts'
import { GzipReader } from '../src/files/gunzip.ts'
import { Converter, formatOf, signalsOf } from '../src/gateway/index.ts'
import { loadText } from '../src/gateway/load/index.ts'
import { decodeWindow, describeWindow, encodeWindow, monitorConfig, Window } from '../src/monitor/index.ts'
import { parseMappings } from '../src/replay/mappings.ts'
import { readTimestamps } from '../src/report/csv.ts'
import { createSketch, type SketchKind, sketchFromBytes, sketchKinds } from '../src/sketch/index.ts'
import { Cdf } from '../src/traffic/index.ts'
import { readTraffic } from '../src/traffic/load/index.ts'
import { addTo } from './sketch/any.ts'
import { workOf } from './work.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-linear-'))
afterAll(() => rmSync(folder, { recursive: true }))

const small = 400
const times = 4
/** Beyond four times as much: growth of buffers, which comes in steps. */
const slack = 1.4

/** What is wrong with the file is no concern here. */
async function quietly(run: () => unknown): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) throw error
  }
}

/**
 * What is wrong, if what takes `four` is more than four times the work of `one`. Code that V8 has begun to optimize before it counts, and
 * finishes meanwhile, counts nothing: what seems to be too little is counted again.
 */
async function excess(what: string, one: () => unknown, four: () => unknown): Promise<string[]> {
  let few = await workOf(one)
  const many = await workOf(four)
  for (let attempt = 0; attempt < 4; attempt++) {
    if (many <= times * slack * few + 20_000) return []
    few = Math.max(few, await workOf(one))
  }
  return [`${what}: ${few} steps, of ${times} times as much ${many}`]
}

type Make = (n: number) => string

/** What any text can be of: `n` says how much. */
const texts: Readonly<Record<string, Make>> = {
  'one long line': (n) => '1'.repeat(20 * n),
  blanks: (n) => ' '.repeat(20 * n),
  'empty lines': (n) => '\n'.repeat(20 * n),
  comments: (n) => '# comment\n'.repeat(2 * n),
  'a comment that is long': (n) => `#${'#'.repeat(20 * n)}`,
  'open brackets': (n) => '{'.repeat(20 * n),
  'lists in lists': (n) => '['.repeat(20 * n),
  'open objects': (n) => '{"a":'.repeat(4 * n),
  'a string without an end': (n) => `"${'a'.repeat(20 * n)}`,
  escapes: (n) => `{"a": "${'\\\\'.repeat(10 * n)}"}`,
  'cut-off objects': (n) => '{"data": [1\n'.repeat(2 * n),
  signs: (n) => '- - : = ; , '.repeat(2 * n),
  slashes: (n) => '/* '.repeat(6 * n),
  variables: (n) => '${'.repeat(10 * n),
}

const chunked = (text: string, bytes: number): Uint8Array[] => {
  const all = Buffer.from(text)
  return Array.from({ length: Math.ceil(all.length / bytes) }, (_, i) => all.subarray(i * bytes, (i + 1) * bytes))
}

/** Readers of texts, and texts of their own. */
const readers: Record<string, [read: (text: string) => unknown, own: Readonly<Record<string, Make>>]> = {}

const lines: Record<string, [string, string]> = {
  'villas.human': ['1.5+1e-3(7)\t1.0\t2.0\n', '1553516817.'],
  csv: ['1,2,3,4,1.0,2.0\n', '1,2,'],
  tsv: ['1\t2\t3\t4\t1.0\t2.0\n', '1\t'],
  json: ['{"data": [1.0, 2.0]}\n', '{"data": ['],
  'villas.binary': ['\x21\0\0\x02aaaaaaaaaaaabbbbcccc', '\x21\0'],
  protobuf: ['\x0a\x00', '\x0a'],
  raw: ['12345678', '1'],
  value: ['1.0\n', '1'],
}
for (const [name, [sample, part]] of Object.entries(lines)) {
  const signals = signalsOf('2f')
  const format = formatOf(name)
  readers[`gateway format ${name}`] = [
    async (text) => {
      const converter = new Converter(format.decoder(signals), format.encoder(signals), { write: () => {}, values: 2 })
      for (const chunk of chunked(text, 1024)) await converter.push(chunk)
      await converter.end()
    },
    {
      'tiny samples': (n) => sample.repeat(n),
      'malformed lines': (n) => `${part}x\n`.repeat(n),
      'begun samples': (n) => part.repeat(2 * n),
    },
  ]
}

const node = (i: number): string => `n${i} = { type = "loopback" };\n`
for (const [name, own] of Object.entries({
  'x.conf': {
    nodes: (n) => `nodes = {\n${Array.from({ length: n / 8 }, (_, i) => node(i)).join('')}}\npaths = ()`,
    paths: (n) =>
      `nodes = { a = { type = "loopback" }, b = { type = "loopback" } }\npaths = (${'{ in = "a", out = "b" },'.repeat(n / 8)} )`,
    'strings in parts': (n) => `a = ${'"b" '.repeat(4 * n)};`,
    escapes: (n) => `a = "${'\\x41'.repeat(4 * n)}";`,
  },
  'x.json': { keys: (n) => `{${Array.from({ length: n }, (_, i) => `"k${i}": ${i}`).join(',\n')}}` },
  'x.yaml': { keys: (n) => Array.from({ length: n / 4 }, (_, i) => `k${i}: ${i}\n`).join('') },
} as Record<string, Record<string, Make>>))
  readers[`gateway configuration ${name}`] = [(text) => loadText({ name, text }, {}), own]

readers['traffic configuration'] = [
  (text) => readTraffic(text, 'x.yaml'),
  {
    'servers that are none': (n) =>
      `servers: [${Array.from({ length: n / 4 }, (_, i) => `"a:b:${i}"`).join(', ')}]\nsize: 1`,
    'phases that are wrong': (n) => `servers: [a]\nphases:\n${'- {size: 5x, duration: 1q}\n'.repeat(n / 20)}`,
    'servers in the text format': (n) => Array.from({ length: n }, (_, i) => `server h${i} 5001\n`).join(''),
  },
]
readers.distribution = [
  (text) => Cdf.parse(text, 'x'),
  { rows: (n) => Array.from({ length: n }, (_, i) => `${i} ${i / n}\n`).join('') },
]
readers['mappings of replay'] = [
  (text) => parseMappings(text, 'x'),
  { mappings: (n) => Array.from({ length: n }, (_, i) => `qpn ${i}=${i + 1}\n`).join('') },
]
readers['saved time stamps'] = [
  (text) => {
    const path = join(folder, 'x.csv')
    writeFileSync(path, text)
    return readTimestamps(path)
  },
  { rows: (n) => `number,t_subm,t_recv,t_comp\n${Array.from({ length: n }, (_, i) => `${i},1,2,3\n`).join('')}` },
]
readers.gzip = [
  async (text) => {
    const reader = new GzipReader(() => {})
    for (const chunk of chunked(text, 4096)) await reader.write(chunk)
    await reader.end()
  },
  {},
]

for (const [name, [read, own]] of Object.entries(readers))
  it(name, async () => {
    const wrong: string[] = []
    for (const [what, make] of Object.entries({ ...texts, ...own })) {
      // Once before: what is compiled and prepared at the first time.
      await quietly(() => read(make(8)))
      const reading = (n: number) => () => quietly(() => read(make(n)))
      wrong.push(...(await excess(what, reading(small), reading(times * small))))
    }
    expect(wrong).toEqual([])
  })

it('gzip of many members, of empty blocks, and with zeros behind it', async () => {
  const member = gzipSync('a')
  const bodies: Record<string, (n: number) => Uint8Array> = {
    members: (n) => Buffer.concat(Array.from({ length: n / 10 }, () => member)),
    zeros: (n) => Buffer.concat([member, Buffer.alloc(100 * n)]),
    blocks: (n) =>
      Buffer.concat([
        Buffer.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0),
        ...Array.from({ length: n }, () => Buffer.of(0, 0, 0, 0xff, 0xff)),
        deflateRawSync(''),
      ]),
  }
  const wrong: string[] = []
  for (const [what, make] of Object.entries(bodies)) {
    const read = async (n: number): Promise<void> => {
      const reader = new GzipReader(() => {})
      const bytes = make(n)
      for (let at = 0; at < bytes.length; at += 4096) await reader.write(bytes.subarray(at, at + 4096))
      await reader.end()
    }
    const reading = (n: number) => () => quietly(() => read(n))
    wrong.push(...(await excess(what, reading(small), reading(times * small))))
  }
  expect(wrong).toEqual([])
})

it('extension headers of ERF', async () => {
  const packet = (headers: number): Uint8Array => {
    const bytes = new Uint8Array(16 + 8 * headers + 2).fill(0x80)
    bytes[8] = 0x80 | 2
    bytes[bytes.length - 10] = 0
    return bytes
  }
  const read = (headers: number): void => {
    const bytes = packet(headers)
    expect(locate(bytes, 0, bytes.length, LinkType.Erf, located())).toBe(LinkLayer.Ethernet)
  }
  read(1)
  expect(await workOf(() => read(small))).toBeGreaterThan(small)
  expect(
    await excess(
      'headers',
      () => read(small),
      () => read(times * small),
    ),
  ).toEqual([])
})

it('saved windows of a monitor', async () => {
  const contents: Record<string, (window: Window, n: number) => void> = {
    parts: (window, n) => {
      for (let sequence = 0; sequence < 10 * n; sequence++)
        window.parts.push({ agent: `a${sequence}`, run: 'r', sequence })
    },
    'parts of one agent': (window, n) => {
      for (let sequence = 0; sequence < 10 * n; sequence++) window.parts.push({ agent: 'a', run: 'r', sequence })
    },
    'source queue pairs': (window, n) => {
      for (let qp = 0; qp < 10 * n; qp++) window.sourceQps.set(`1,2,3,4,5,6,7,8,0,${qp},0`, qp)
    },
    'pauses of ports': (window, n) => {
      for (let port = 0; port < n / 2; port++) window.pausesOf(`p${port} 00:00:00:00:00:01`)!.fill(port)
    },
  }
  const saved = (fill: (window: Window, n: number) => void, n: number, memoryBytes: number): Uint8Array => {
    const window = new Window(monitorConfig({ seed: 1, memoryBytes }), 0)
    fill(window, n)
    return encodeWindow(window)
  }
  const wrong: string[] = []
  const compare = async (what: string, one: Uint8Array, four: Uint8Array): Promise<void> => {
    for (const read of [decodeWindow, describeWindow]) {
      read(one)
      wrong.push(
        ...(await excess(
          `${read.name}, ${what}`,
          () => read(one),
          () => read(four),
        )),
      )
    }
  }
  const usual = 2 ** 20
  for (const [what, fill] of Object.entries(contents))
    await compare(what, saved(fill, small, usual), saved(fill, times * small, usual))
  await compare(
    'memory',
    saved(() => {}, 0, usual),
    saved(() => {}, 0, times * usual),
  )
  expect(wrong).toEqual([])
})

it('sketches in bytes', async () => {
  const key = new Uint8Array(8)
  const saved = (kind: SketchKind, bytes: number): Uint8Array => {
    const sketch = createSketch(kind, { bytes, keyBytes: 8, sourceBytes: 4, seed: 1 } as never)
    for (let i = 0; i < bytes / 16; i++) {
      key[0] = i
      key[1] = i >> 8
      addTo(sketch, key, 1, i)
    }
    return sketch.toBytes()
  }
  const wrong: string[] = []
  for (const kind of sketchKinds) {
    const size = 40_000
    const [few, many] = [saved(kind, size), saved(kind, times * size)]
    sketchFromBytes(few)
    wrong.push(
      ...(await excess(
        kind,
        () => sketchFromBytes(few),
        () => sketchFromBytes(many),
      )),
    )
  }
  expect(wrong).toEqual([])
})
