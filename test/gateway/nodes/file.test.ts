/** Node-type file: replay at the times of a file or at a rate, end of file, formats, names with the time, a disk that is full. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { fileName, unknownConversion } from '../../../src/gateway/nodes/file/uri.ts'
import { countsOf, parsed, ran } from '../runtime/gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function input(lines: readonly string[]): string {
  const path = join(folder, `in${files++}.csv`)
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  return path
}
const output = (): string => join(folder, `out${files++}.csv`)

/** Bytes that can be read now. */
function readable(fd: number, into: Uint8Array): number {
  try {
    return readSync(fd, into)
  } catch {
    return 0
  }
}

/** Rows of a file as numbers: seconds, nanoseconds, offset, sequence, values. */
function rowsOf(path: string): number[][] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(1, -1)
  return lines.map((line) => line.split(',').map(Number))
}

const three = ['10,000000000,0.0,5,1.5', '10,010000000,0.0,6,2.5', '10,020000000,0.0,7,3.5']
const signals = '1f'

describe('file', () => {
  it('replays a file as it is with epoch_mode original', async () => {
    const [from, to] = [input(three), output()]
    const run = await ran({
      nodes: {
        source: { type: 'file', uri: from, format: 'csv', in: { epoch_mode: 'original', signals } },
        sink: { type: 'file', uri: to, format: 'csv' },
      },
      paths: [{ in: 'source', out: 'sink' }],
    })
    expect(run.gateway.failures).toEqual([])
    expect(rowsOf(to).map(([sec, nsec, , sequence, value]) => [sec, nsec, sequence, value])).toEqual([
      [10, 0, 5, 1.5],
      [10, 10_000_000, 6, 2.5],
      [10, 20_000_000, 7, 3.5],
    ])
    expect(run.lines).toContain('info source: end of file')
  })

  it('names as many signals as the first sample has, if nobody knows them', async () => {
    const [from, to] = [input(three), output()]
    await ran({
      nodes: {
        source: { type: 'file', uri: from, format: 'csv', in: { epoch_mode: 'original' } },
        sink: { type: 'file', uri: to, format: 'csv' },
      },
      paths: [{ in: 'source', out: 'sink' }],
    })
    expect(readFileSync(to, 'utf8').split('\n')[0]).toBe('# secs,nsecs,offset,sequence,signal0')
    expect(rowsOf(to).map(([, , , , value]) => value)).toEqual([1.5, 2.5, 3.5])
  })

  it('replays it at its own pace, from now on, with epoch_mode direct', async () => {
    const [from, to] = [input(three), output()]
    const before = Date.now() / 1000
    await ran({
      nodes: {
        source: { type: 'file', uri: from, format: 'csv', in: { epoch: 0.1, signals } },
        sink: { type: 'file', uri: to, format: 'csv' },
      },
      paths: [{ in: 'source', out: 'sink' }],
    })
    const times = rowsOf(to).map(([sec, nsec]) => sec! + nsec! / 1e9)
    expect(times[0]).toBeGreaterThan(before + 0.1)
    expect(times[1]! - times[0]!).toBeCloseTo(0.01, 6)
    expect(times[2]! - times[0]!).toBeCloseTo(0.02, 6)
    // The last one was sent when its time had come, and not before.
    expect(Date.now() / 1000).toBeGreaterThan(times[2]!)
    for (const [, , offset] of rowsOf(to)) expect(offset).toBeGreaterThanOrEqual(-0.000_001)
  })

  it('rewinds as often as there is somebody to read, skips samples, counts lines that are malformed', async () => {
    const from = input([...three, 'no line'])
    const run = await parsed({
      nodes: {
        source: {
          type: 'file',
          uri: from,
          format: 'csv',
          in: { epoch_mode: 'original', eof: 'rewind', skip: 2, signals, builtin: false },
        },
      },
      paths: [{ in: 'source' }],
    })
    await run.gateway.start()
    await expect.poll(() => countsOf(run, 'source').read).toBeGreaterThan(20)
    await run.gateway.stop()
    const { read, rewound, malformed } = countsOf(run, 'source')
    expect([read, read! + 1, read! + 2]).toContain(1 + 3 * rewound!)
    expect(malformed === rewound || malformed === rewound! + 1).toBe(true)
    expect(run.lines.filter((line) => line.includes('malformed'))).toEqual([expect.stringContaining('line 4')])
  })

  it.each([three, three.map((line) => line.replace(/,([567]),/, (_, number) => `,${number - 5},`))])(
    'is heard again after each rewind, whatever number it begins with: %s',
    async (...lines) => {
      const run = await parsed({
        nodes: {
          source: {
            type: 'file',
            uri: input(lines),
            format: 'csv',
            in: { epoch_mode: 'original', eof: 'rewind', signals },
          },
        },
        paths: [{ in: 'source' }],
      })
      await run.gateway.start()
      await expect.poll(() => countsOf(run, 'source').read).toBeGreaterThan(20)
      await run.gateway.stop()
      expect(countsOf(run, 'source').skipped).toBe(0)
      expect(run.lines.filter((line) => line.includes('started again'))).toEqual([])
    },
  )

  it('waits for what a file grows by with eof wait', async () => {
    const from = input(three.slice(0, 1))
    const run = await parsed({
      nodes: {
        source: { type: 'file', uri: from, format: 'csv', in: { epoch_mode: 'original', eof: 'wait', signals } },
      },
      paths: [{ in: 'source' }],
    })
    await run.gateway.start()
    await expect.poll(() => countsOf(run, 'source').read).toBe(1)
    writeFileSync(from, `${three[1]}\n${three[2]!.slice(0, 5)}`, { flag: 'a' })
    await expect.poll(() => countsOf(run, 'source').read).toBe(2)
    writeFileSync(from, `${three[2]!.slice(5)}\n`, { flag: 'a' })
    await expect.poll(() => countsOf(run, 'source').read).toBe(3)
    await run.gateway.stop()
    expect(countsOf(run, 'source').malformed).toBe(0)
  })

  it('paces a file by a rate, with the time of sending', async () => {
    const [from, to] = [input(three), output()]
    const begun = Date.now() / 1000
    await ran({
      nodes: {
        source: { type: 'file', uri: from, format: 'csv', in: { rate: 5, signals } },
        sink: { type: 'file', uri: to, format: 'csv' },
      },
      paths: [{ in: 'source', out: 'sink' }],
    })
    const times = rowsOf(to).map(([sec, nsec]) => sec! + nsec! / 1e9)
    expect(times).toHaveLength(3)
    // On the grid or later, however late the first one was: the third is two periods behind the beginning.
    expect(times[2]! - begun).toBeGreaterThan(0.399)
  })

  it('appends, in a folder that it makes, to a file with the day in its name', async () => {
    const template = join(folder, 'made', 'day_%F.dat')
    const settings = {
      nodes: {
        source: { type: 'signal', signal: 'counter', realtime: false, limit: 2 },
        sink: { type: 'file', uri: template },
      },
      paths: [{ in: 'source', out: 'sink' }],
    }
    await ran(settings)
    await ran(settings)
    const [name] = readdirSync(join(folder, 'made'))
    expect(name).toMatch(/^day_\d{4}-\d\d-\d\d\.dat$/)
    const lines = readFileSync(join(folder, 'made', name!), 'utf8').split('\n')
    expect(lines.filter((line) => line.startsWith('#'))).toHaveLength(2)
    expect(lines.filter((line) => /\(\d\)\t/.test(line))).toHaveLength(4)
  })

  it.skipIf(!existsSync('/dev/full'))('fails when the disk is full, and says how much is lost', async () => {
    const run = await ran({
      nodes: {
        source: { type: 'signal', signal: 'counter', realtime: false, limit: 100_000 },
        sink: { type: 'file', uri: '/dev/full', out: { buffer_size: 8192 } },
      },
      paths: [{ in: 'source', out: 'sink' }],
    })
    expect(run.gateway.failures).toHaveLength(1)
    const { node, message } = run.gateway.failures[0]!
    expect(node).toBe('sink')
    expect(message).toMatch(/^\/dev\/full: ENOSPC.*; \d+ samples are not in the file$/)
    const { written, lost, undelivered } = countsOf(run, 'sink')
    expect(undelivered).toBe(Number(/(\d+) samples/.exec(message)![1]))
    expect(written).toBe(undelivered)
    expect(lost).toBeGreaterThan(0)
    expect(run.gateway.pool.available).toBe(run.gateway.pool.capacity)
  })

  it.each(['file', 'digest'])(
    'a FIFO that nobody reads does not hold up the gateway, nor its end: %s',
    async (user) => {
      const fifo = join(folder, `fifo-${user}`)
      execFileSync('mkfifo', [fifo])
      const plain = output()
      const run = await parsed({
        nodes: {
          source: {
            type: 'signal',
            signal: 'counter',
            rate: 1000,
            in: { hooks: [{ type: 'frame', trigger: 'sequence', interval: 2 }] },
          },
          sink: { type: 'file', uri: user === 'file' ? fifo : plain, out: { flush: true } },
        },
        paths: [
          {
            in: 'source',
            out: 'sink',
            hooks: user === 'digest' ? [{ type: 'digest', uri: fifo, algorithm: 'md5' }] : [],
          },
        ],
      })
      await run.gateway.start()
      await expect.poll(() => countsOf(run, 'source').read).toBeGreaterThan(10)
      const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
      const bytes = Buffer.alloc(1 << 16)
      let text = ''
      await expect
        .poll(() => {
          text += bytes.toString('utf8', 0, readable(reader, bytes))
          return text.split('\n').length
        })
        .toBeGreaterThan(5)
      closeSync(reader)
      await run.gateway.stop()
      expect(run.gateway.failures).toEqual([])
      // Whole lines, from some moment on.
      for (const line of text.split('\n').slice(0, -1)) expect(line).toMatch(/^(#|\d+\.\d{9}).*$/)
      if (user === 'file') expect(countsOf(run, 'sink').undelivered).toBeGreaterThan(0)
      expect(run.lines.filter((line) => line.includes('FIFO'))).toHaveLength(1)
    },
  )

  it('reads what is written to it, from its begin', async () => {
    const path = output()
    const run = await parsed({
      nodes: {
        // Not in real time: a loaded machine would miss steps.
        source: { type: 'signal', signal: 'counter', rate: 100, limit: 5, realtime: false },
        log: { type: 'file', uri: path, in: { eof: 'wait', epoch_mode: 'original', signals }, out: { flush: true } },
      },
      paths: [{ in: 'source', out: 'log' }, { in: 'log' }],
    })
    await run.gateway.start()
    await expect.poll(() => countsOf(run, 'log').read).toBe(5)
    await run.gateway.stop()
  })

  it('says which file is not there', async () => {
    const { gateway } = await parsed({
      nodes: { source: { type: 'file', uri: join(folder, 'nothing'), in: { signals } } },
      paths: [{ in: 'source' }],
    })
    await expect(gateway.start()).rejects.toThrow(/^node source cannot start: ENOENT.*nothing/)
    expect(gateway.state).toBe('stopped')
  })
})

describe('names of files', () => {
  const time = new Date('2026-03-05T07:08:09Z')
  it.each([
    ['log', 'log'],
    ['%Y-%m-%d_%H-%M-%S', '2026-03-05_07-08-09'],
    ['%F %T', '2026-03-05 07:08:09'],
    ['%y %j %a %b %% %s', '26 064 Thu Mar % 1772694489'],
  ])('%s', (template, name) => {
    expect(unknownConversion(template)).toBeUndefined()
    expect(fileName(template, time)).toBe(name)
  })

  it('have no other conversions', () => {
    expect(unknownConversion('a%Qb')).toBe('%Q')
    expect(unknownConversion('100%')).toBe('%')
  })
})
