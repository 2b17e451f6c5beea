import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { outcome, startProcess, verbena } from '../../cli/run.ts'
import { savesOn } from './interrupted.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let runs = 0
const out = (): string => join(folder, String(++runs))
const small = ['--burst', '50', '--warmup', '10', '--pause', '0']

describe('verbena bench latency', () => {
  it('prints one JSON document and nothing else with --json', async () => {
    const dir = out()
    const { code, stdout, stderr } = await verbena(
      'bench',
      'latency',
      ...small,
      '--service',
      'RC,UD',
      '--op',
      'send-imm,write-imm',
      '--json',
      '--out',
      dir,
    )
    expect(stderr).toMatch(/left out 1 combination: UD carries no RDMA WRITE/)
    expect(code).toBe(0)
    expect(stdout.trimEnd()).not.toContain('\n')
    const { runs, unit } = JSON.parse(stdout)
    expect(unit).toBe('ns')
    expect(runs).toHaveLength(3)
    for (const run of runs) {
      expect(Object.keys(run.lat)).toEqual(['count', 'min', 'p10', 'median', 'p90', 'p99', 'p999', 'max'])
      expect(Object.keys(run.comp)).toEqual(Object.keys(run.lat))
      expect(run.lat.count).toBe(50)
      expect(run.settings).toMatchObject({
        size: 8,
        burst: 50,
        pause: 0,
        poll: 'busy',
        inline: false,
        engine: 'poster',
      })
    }
    expect(
      runs.map(({ settings }: { settings: { service: string; op: string } }) => `${settings.service} ${settings.op}`),
    ).toEqual(['RC send-imm', 'RC write-imm', 'UD send-imm'])
  })

  it('prints a table, a histogram and where the results are', async () => {
    const dir = out()
    const { code, stdout } = await verbena('bench', 'latency', ...small, '--size', '8,64', '--inline', '--out', dir)
    expect(code).toBe(0)
    for (const column of ['n', 'min', 'p10', 'median', 'p90', 'p99', 'p99.9', 'max', 'lost'])
      expect(stdout).toMatch(new RegExp(` ${column.replace('.', '\\.')}( |$)`, 'm'))
    expect(stdout).toContain('▲')
    expect(stdout).toContain(dir)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is no escape sequence is the point.
    expect(stdout).not.toMatch(/\u001b/)
    for (const file of ['run.json', 'plot.json', '001.csv', '002.csv']) expect(existsSync(join(dir, file))).toBe(true)
  })

  it('puts results into a dated folder when nobody says where', async () => {
    const cwd = mkdtempSync(join(folder, 'cwd-'))
    const { stdout } = await outcome(startProcess(['bench', 'latency', ...small], { cwd }))
    const dir = /Results: (.+)/.exec(stdout)?.[1] ?? ''
    expect(dir).toMatch(/^results\/\d{4}-\d\d-\d\d-\d{6}-latency$/)
    expect(existsSync(join(cwd, dir, 'run.json'))).toBe(true)
  })

  it('replaces the results that a folder had, without leaving any behind', async () => {
    const dir = out()
    await verbena('bench', 'latency', ...small, '--size', '8,16,32', '--out', dir)
    expect(existsSync(join(dir, '003.csv'))).toBe(true)
    await verbena('bench', 'latency', ...small, '--out', dir)
    expect(existsSync(join(dir, '001.csv'))).toBe(true)
    expect(existsSync(join(dir, '003.csv'))).toBe(false)
  })

  savesOn('SIGINT')

  it('exits with 1 when a set failed, and keeps the others', async () => {
    const dir = out()
    // Both names open; but nothing leads from one segment to the other.
    const name = `shm:verbena-test-${process.pid}`
    const { code, stderr } = await verbena(
      'bench',
      'latency',
      ...small,
      '--device',
      'shm0',
      '--device',
      `shm0,${name}`,
      '--out',
      dir,
    )
    expect(code).toBe(1)
    expect(stderr).toMatch(/set 002: /)
    const { sets } = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'))
    expect(sets[0].lat.count).toBe(50)
  })

  it('ends quietly when its reader goes away', async () => {
    const child = startProcess(['bench', 'latency', ...small, '--size', '8,16,32,64', '--out', out()])
    child.stdout?.destroy()
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    expect([code, signal]).toEqual([0, null])
  })
})

describe('verbena bench throughput', () => {
  it('prints JSON, or a table', async () => {
    const dir = out()
    const few = ['--technique', 'send-recv,write-batch', '--concurrent', '4', '--messages', '200', '--warmup', '0']
    const json = await verbena('bench', 'throughput', ...few, '--json', '--out', dir)
    expect(json.code).toBe(0)
    const { runs, unit } = JSON.parse(json.stdout)
    expect(unit).toBe('messages/s')
    expect(runs.map(({ settings }: { settings: { technique: string } }) => settings.technique)).toEqual([
      'send-recv',
      'write-batch',
    ])
    for (const run of runs) expect(run.messages).toBeGreaterThanOrEqual(200)
    const text = await verbena('bench', 'throughput', ...few, '--out', dir)
    expect(text.stdout).toMatch(/messages\/s/)
  })
})

describe('verbena bench rsocket', () => {
  const few = ['--size', '1,3000', '--repeat', '1', '--seconds', '0.02', '--warmup', '0.01']

  it('prints JSON, or tables, and keeps what a report needs', async () => {
    const dir = out()
    const json = await verbena('bench', 'rsocket', ...few, '--json', '--out', dir)
    expect(json.code, json.stderr).toBe(0)
    expect(json.stdout.trimEnd()).not.toContain('\n')
    const { runs, profiles, unit } = JSON.parse(json.stdout)
    expect([unit, profiles]).toEqual(['bytes/s', []])
    expect(
      runs.map(({ settings: s }: { settings: Record<string, unknown> }) => `${s.test} ${s.transport} ${s.size}`),
    ).toEqual([
      ...['rr rsocket 1', 'rr rsocket 3000', 'rr tcp 1', 'rr tcp 3000'],
      ...['stream rsocket 1', 'stream rsocket 3000', 'stream tcp 1', 'stream tcp 3000'],
    ])
    for (const { messages, roundTrip, settings } of runs) {
      expect(messages).toBeGreaterThan(0)
      expect(roundTrip === null).toBe(settings.test === 'stream')
    }
    for (const file of ['run.json', 'plot.json', 'sets.csv', '001.csv']) expect(existsSync(join(dir, file))).toBe(true)
    const text = await verbena('bench', 'rsocket', ...few, '--test', 'stream', '--profile', '4096', '--out', dir)
    expect(text.code, text.stderr).toBe(0)
    expect(text.stdout).toMatch(/^TCP_STREAM$/m)
    expect(text.stdout).toMatch(/^kernel TCP +2\.93 KiB|^kernel TCP +3,000 B/m)
    expect(text.stdout).toMatch(/^stream 4 KiB, rsocket, client +\w/m)
    expect(existsSync(join(dir, '001.csv'))).toBe(false)
    const report = await verbena('report', dir)
    expect(report.code, report.stderr).toBe(0)
    expect(report.stdout).toContain('socket-throughput.svg')
    expect(report.stdout).toMatch(/flame-\d+-client\.svg/)
  })

  it('does without the calls of the system, and says so', async () => {
    const env = { ...process.env, VERBENA_NO_NATIVE: '1' }
    const { code, stdout, stderr } = await outcome(
      startProcess(['bench', 'rsocket', ...few, '--json', '--out', out()], { env }),
    )
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/without the koffi package TCP goes through node:net/)
    const { runs } = JSON.parse(stdout)
    expect(runs).toHaveLength(8)
    for (const { via, settings, messages } of runs) {
      expect(via).toBe(settings.transport === 'tcp' ? 'node:net' : 'verbs')
      expect(messages).toBeGreaterThan(0)
    }
  })

  it.each([
    ['--test', 'foo', /--test: 'foo' is not valid\. Expected rr or stream/],
    ['--profile', '0', /--profile: '0' is not valid/],
    ['--device', 'shm9', /--device: there is no device 'shm9'; there are shm0/],
    ['--size', '0', /--size: '0' is not valid/],
    ['--transport', 'rsocket --direct on --poll busy', /--direct: nothing is left to measure: only calls that block/],
  ])('refuses %s %s', async (option, value, text) => {
    const { code, stderr } = await verbena('bench', 'rsocket', option, ...value.split(' '))
    expect(code).toBe(2)
    expect(stderr).toMatch(text)
  })
})

describe('verbena report', () => {
  it('is made from saved results, one run or several', async () => {
    const [one, two, both] = [out(), out(), out()]
    await verbena('bench', 'latency', ...small, '--size', '8,64', '--out', one)
    await verbena('bench', 'latency', ...small, '--size', '8,64', '--out', two)
    const { code, stdout } = await verbena('report', one, two, '--out', both, '--open', 'no')
    expect(code).toBe(0)
    expect(stdout.split('\n')[0]).toBe(join(both, 'report.html'))
    expect(readFileSync(join(both, 'report.html'), 'utf8')).toContain('<svg')
    const single = await verbena('report', one, '--over', 'size', '--json')
    expect(JSON.parse(single.stdout).files[0]).toBe(join(one, 'report.html'))
    const wrong = await verbena('report', one, '--over', 'weather')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/weather/)
  })
})
