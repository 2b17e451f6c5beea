import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type AgentState, type Comparison, keyNames, type WindowAnswer } from '../../../src/monitor/index.ts'
import { begin, verbena } from '../../cli/in-process.ts'
import { sparseCapture } from '../../monitor/host/sparse.ts'

const capture = (name: string): string => new URL(`../../captures/${name}.pcap`, import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'verbena-monitor-test-'))
afterAll(() => rmSync(folder, { recursive: true }))
const linesOf = (text: string): WindowAnswer[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as WindowAnswer)

describe('verbena monitor', () => {
  it('counts the same as trace info', async () => {
    for (const name of ['rping', 'read_lat', 'udaddy', 'atomic_lat']) {
      const windows = linesOf((await verbena('monitor', capture(name), '--json')).stdout)
      const info = JSON.parse((await verbena('trace', 'info', capture(name), '--json')).stdout)
      const sum = (counter: 'packets' | 'roce' | 'messages'): number =>
        windows.reduce((all, { totals }) => all + totals[counter], 0)
      const messages = info.conversations
        .flatMap(({ directions }: { directions: { messages: { total: number } }[] }) => directions)
        .reduce((all: number, one: { messages: { total: number } }) => all + one.messages.total, 0)
      expect([sum('packets'), sum('roce'), sum('messages')]).toEqual([info.packets, info.roce, messages])
    }
  })

  it('shows tables with bounds, and what is asked for', async () => {
    const { code, stdout } = await verbena(
      'monitor',
      capture('read_lat'),
      '--by',
      'hosts',
      '--by',
      'rkey',
      '--top',
      '1',
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\S+Z {2}1 s {2}30 packets \(30 of RDMA\)/)
    expect(stdout).toMatch(/^hosts +bytes +share +at least +at most\n10\.77\.0\.\d → 10\.77\.0\.\d +\d+/m)
    expect(stdout).toMatch(/^10\.77\.0\.\d R_Key 0x/m)
    expect(stdout).toContain('READ latency')
  })

  it('says the same with several threads', async () => {
    for (const name of ['rc_pingpong_loss3', 'rstream']) {
      const [one, two] = await Promise.all(
        ['1', '2'].map((count) => verbena('monitor', capture(name), '--json', '--workers', count)),
      )
      const [alone, together] = [one!, two!].map(({ stdout }) => linesOf(stdout).map(({ totals }) => totals))
      expect(together).toEqual(alone)
    }
    const { code, stderr } = await verbena('monitor', '-', '--workers', '2')
    expect([code, stderr]).toEqual([2, expect.stringContaining('several threads')])
  })

  it('compares its sketches with exact counting', async () => {
    const { code, stdout } = await verbena('monitor', 'compare', capture('rping'), '--json', '--seed', '1')
    const comparison = JSON.parse(stdout) as Comparison
    const info = JSON.parse((await verbena('trace', 'info', capture('rping'), '--json')).stdout)
    expect([code, comparison.holds, comparison.packets]).toEqual([0, true, info.packets])
    expect(comparison.keys.map(({ key }) => key)).toEqual(Object.keys(keyNames))
    const table = await verbena('monitor', 'compare', capture('rping'), '--by', 'hosts', '--of', 'messages')
    expect(table.stdout).toMatch(/^hosts +\d+ +\d+ +0 % /m)
    expect(table.stdout).toMatch(/Every bound held as often as it promises\.\n$/)
    const little = await verbena('monitor', 'compare', capture('rping'), '--exact-memory', '0.02')
    expect([little.code, little.stderr]).toEqual([2, expect.stringContaining('than the 20.48 KiB that it may take')])
  })

  it('compares captures together, as agents of a collector', async () => {
    const of = async (...args: string[]): Promise<Comparison> =>
      JSON.parse((await verbena('monitor', 'compare', ...args, '--json', '--seed', '1', '--window', '0.1')).stdout)
    const [one, both] = await Promise.all([
      of(capture('rc_pingpong_loss3')),
      of(capture('rc_pingpong_loss3'), capture('rc_pingpong_loss3'), '--merge'),
    ])
    expect([both.holds, both.windows, both.packets, both.roce]).toEqual([
      ...[true, one.windows, 2 * one.packets, 2 * one.roce],
    ])
    expect(one.windows).toBeGreaterThan(1)
    const exact = ({ keys }: Comparison): object =>
      keys.map(({ key, keys: count, entropy }) => [key, count, entropy.exact.toFixed(9)])
    expect(exact(both)).toEqual(exact(one))
    expect(both.latency.ack.map(({ windows }) => windows)).toEqual(one.latency.ack.map(({ windows }) => windows))
  })

  it('saves windows, and reports of them', async () => {
    const file = join(folder, 'saved')
    for (const name of ['rping', 'read_lat']) {
      // Sketches of one seed can be merged: those of each run have their own.
      const { code } = await verbena('monitor', capture(name), '--save', `${file}-${name}`)
      expect(code).toBe(0)
    }
    const { stdout } = await verbena('monitor', 'report', `${file}-rping`, '--json')
    const [report, ...more] = linesOf(stdout)
    const whole = linesOf((await verbena('monitor', capture('rping'), '--json', '--window', '3600')).stdout)
    expect(more).toEqual([])
    expect(report!.totals).toEqual(whole[0]!.totals)
    const both = await verbena('monitor', 'report', `${file}-rping`, `${file}-read_lat`)
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('have another seed')])
    // Added to a file, windows have the seed of those in it.
    expect((await verbena('monitor', capture('read_lat'), '--save', `${file}-rping`)).code).toBe(0)
    const added = await verbena('monitor', 'report', `${file}-rping`, '--json')
    expect(linesOf(added.stdout)[0]!.totals.packets).toBeGreaterThan(report!.totals.packets)
  })

  it('says alerts', async () => {
    const log = join(folder, 'alerts')
    const { stderr } = await verbena('monitor', capture('read_lat'), '--alert', 'messages > 9', '--alert-log', log)
    expect(stderr).toContain('ALERT: messages is 10: messages > 9')
    expect(JSON.parse(readFileSync(log, 'utf8'))).toMatchObject({ state: 'firing', metric: 'messages', value: 10 })
  })

  it('says what is wrong with what it is given', async () => {
    const file = join(folder, 'no-windows')
    writeFileSync(file, 'text that is long enough')
    for (const [args, said] of [
      [['monitor', join(folder, 'nothing')], /there is no such file/],
      [['monitor', capture('rping'), '-i', 'lo'], /choose one/],
      [['monitor', capture('rping'), '--by', 'colour'], /'colour' is no key: expected connection, /],
      [['monitor', capture('rping'), '--of', 'joy'], /'joy' is not valid/],
      [['monitor', capture('rping'), '--alert', 'joy > 3'], /'joy' is no number of a window/],
      [['monitor', capture('rping'), '--alert-log', 'x'], /--alert.*which alerts/],
      [['monitor', capture('rping'), '--collector', 'x'], /'x' is not valid\. Expected a URL/],
      [['monitor', capture('rping'), '--metrics', 'x'], /--metrics: 'x' is not valid/],
      [['monitor', capture('rping'), '--metrics-no-token'], /--metrics: is needed/],
      [['monitor', capture('rping'), '--metrics-token-file', file], /--metrics: is needed/],
      [['monitor', 'report', file], /has no window/],
      [['monitor', 'collector', '--tls-key', file, '--token-file', file], /no spaces/],
    ] as const) {
      const { code, stderr } = await verbena(...args)
      expect([code, stderr]).toEqual([2, expect.stringMatching(said)])
    }
    expect(existsSync('x')).toBe(false)
  })

  it('sends all windows of a capture with few packets, as fast as its collector takes them', async () => {
    const [token, file] = [join(folder, 'token'), join(folder, 'sparse.pcap')]
    writeFileSync(token, '0123456789abcdef0123\n')
    writeFileSync(file, sparseCapture(66))
    const collector = begin(['monitor', 'collector', '--listen', '0', '--token-file', token, '--memory', '1', '--json'])
    const [, url = ''] = await collector.says(/Collecting at (\S+);/)
    const { code, stderr } = await verbena('monitor', file, '--collector', url, '--token-file', token)
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('could not be delivered')])
    collector.interrupt()
    expect(linesOf((await collector.outcome).stdout)).toHaveLength(66)
  })

  it('says that others can read what a collector gets, and what its page shows, without TLS, unless they are on this host', async () => {
    const token = join(folder, 'clear')
    writeFileSync(token, '0123456789abcdef0123\n')
    for (const [args, isSaid] of [
      [['0.0.0.0:0'], true],
      [['0'], false],
      [['0', '--page', '0.0.0.0:0', '--page-token-file', token], true],
    ] as const) {
      const collector = begin(['monitor', 'collector', '--token-file', token, '--listen', ...args])
      await collector.says(/Collecting at/)
      collector.interrupt()
      expect((await collector.outcome).stderr.includes('Without TLS')).toBe(isSaid)
    }
  })

  it('sends what it sees to a collector, which merges and saves it', async () => {
    const token = join(folder, 'token')
    writeFileSync(token, '0123456789abcdef0123\n')
    const file = join(folder, 'collected')
    const args = ['--listen', '0', '--token-file', token, '--save', file, '--json']
    const collector = begin(['monitor', 'collector', ...args])
    const [, url = ''] = await collector.says(/Collecting at (\S+);/)
    const { code, stdout } = await verbena('monitor', capture('read_lat'), '--collector', url, '--token-file', token)
    expect([code, stdout]).toEqual([0, ''])
    const answer = await fetch(`${url}/v1/agents`, { headers: { Authorization: 'Bearer 0123456789abcdef0123' } })
    expect((await answer.json()) as AgentState[]).toMatchObject([{ state: 'here', windows: 1, missing: 0 }])
    const metrics = await fetch(`${url}/metrics`, { headers: { Authorization: 'Bearer 0123456789abcdef0123' } })
    expect(await metrics.text()).toContain('\nverbena_monitor_agents{state="here"} 1\n')
    expect((await fetch(`${url}/metrics`)).status).toBe(401)
    collector.interrupt()
    const ended = await collector.outcome
    expect(linesOf(ended.stdout).map(({ totals }) => totals.messages)).toEqual([10])
    expect(linesOf((await verbena('monitor', 'report', file, '--json')).stdout)[0]!.totals.messages).toBe(10)
  })
})
