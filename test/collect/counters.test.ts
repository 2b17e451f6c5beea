/** Counters of trees with the layout of six drivers, and of trees that are damaged. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import {
  csvHead,
  csvLines,
  exactJson,
  type HostReading,
  type Port,
  prometheusText,
  RateTracker,
  readHost,
  readingDocument,
} from '../../src/collect/index.ts'
import { failureOf } from '../../src/collect/rdma-statistic.ts'
import { everything, type Files, mlx4, mlx5, writeTree } from './trees.ts'

const folders: string[] = []
const made = (files: Files): string => {
  const folder = writeTree(files)
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const root = made(everything)
const host = await readHost({ root })

function portOf(reading: HostReading, device: string, number = 1): Port {
  const found = reading.devices.find(({ name }) => name === device)?.ports.find(({ port }) => port === number)
  if (found === undefined) throw new Error(`no ${device}/${number}`)
  return found
}

function counted(port: Port, counter: string, priority?: number): bigint | undefined {
  return port.readings.find((one) => one.counter === counter && one.priority === priority)?.value
}

describe('each driver', () => {
  it('is known, by its module, its name or its counters', () => {
    expect(Object.fromEntries(host.devices.map(({ name, driver }) => [name, driver]))).toEqual({
      hns_0: 'hns',
      mlx4_0: 'mlx4',
      mlx5_0: 'mlx5',
      rocep1: 'irdma',
      rocep59s0f0: 'bnxt_re',
      rxe0: 'rxe',
    })
    expect(host.problems).toEqual([])
  })

  it('mlx5: words are bytes, beyond 2^53; the interface adds PFC', () => {
    const port = portOf(host, 'mlx5_0')
    expect(counted(port, 'port_data_received_bytes')).toBe(2n ** 64n)
    expect(counted(port, 'port_data_transmitted_bytes')).toBe(1_000_000_000_000n)
    expect(counted(port, 'np_cnp_packets_sent')).toBe(5_000_000_000n)
    expect(counted(port, 'pfc_pause_received', 3)).toBe(41n)
    expect(counted(port, 'pfc_pause_duration_received_microseconds', 3)).toBe(1234n)
    expect(counted(port, 'rdma_data_received_bytes')).toBe(123_456n)
    expect(port.others).toContainEqual({ source: 'hw_counters/some_new_counter', value: 99n })
    expect(port).toMatchObject({
      state: { id: 4, name: 'ACTIVE' },
      bytesPerSecond: 12.5e9,
      netdev: 'ens1f0',
      lifespanMs: 10,
    })
    expect(portOf(host, 'mlx5_0', 2).state).toEqual({ id: 1, name: 'DOWN' })
  })

  it('the others say the same by the same names', () => {
    expect(counted(portOf(host, 'rxe0'), 'rdma_packets_transmitted')).toBe(1000n)
    expect(portOf(host, 'rxe0').netdev).toBe('eth0')
    expect(counted(portOf(host, 'rocep59s0f0'), 'out_of_sequence_packets_received')).toBe(4n)
    expect(counted(portOf(host, 'rocep59s0f0'), 'active_qps')).toBe(5n)
    expect(counted(portOf(host, 'rocep1'), 'np_cnp_packets_sent')).toBe(6n)
    expect(counted(portOf(host, 'rocep1'), 'packet_sequence_errors')).toBe(2n)
    expect(counted(portOf(host, 'hns_0'), 'np_cnp_packets_sent')).toBe(3n)
  })

  it('mlx4: classic widths', () => {
    const reading = portOf(host, 'mlx4_0').readings.find(({ counter }) => counter === 'port_data_received_bytes')
    expect(reading).toMatchObject({ raw: 0xffff_ffffn, mapping: { bits: 32, overflow: 'saturate', scale: 4 } })
  })

  it('devices and ports can be chosen', async () => {
    const some = await readHost({ root, devices: ['mlx5_0', 'rxe0'], ports: [2] })
    expect(some.devices.map(({ name, ports }) => [name, ports.map(({ port }) => port)])).toEqual([['mlx5_0', [2]]])
  })
})

describe('rates', () => {
  it('of q-counters that wrap, of ones at their end, of ones from the cache', async () => {
    const folder = made({ ...mlx5, ...mlx4 })
    const tracker = new RateTracker()
    const first = await readHost({ root: folder })
    tracker.add({ ...first, atMs: 0 })
    const at = (path: string, text: string): void => writeFileSync(join(folder, path), text)
    at('class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence', '16')
    at('class/infiniband/mlx5_0/ports/1/counters/port_xmit_data', '250000001000')
    const after = await readHost({ root: folder })
    const rates = tracker.add({ ...after, atMs: 5 })
    const rate = (reading: HostReading, device: string, counter: string) => {
      const one = portOf(reading, device).readings.find((found) => found.counter === counter)
      return rates.get(one!)
    }
    expect(rate(after, 'mlx5_0', 'out_of_sequence_packets_received')).toEqual({ step: 'wrapped', perSecond: 6400 })
    expect(rate(after, 'mlx5_0', 'port_data_transmitted_bytes')).toEqual({ step: 'counted', perSecond: 800_000 })
    expect(rate(after, 'mlx5_0', 'rx_read_requests')).toEqual({ step: 'stale', perSecond: undefined })
    expect(rate(after, 'mlx4_0', 'port_data_received_bytes')).toEqual({ step: 'saturated', perSecond: undefined })
    expect(rate(after, 'mlx4_0', 'port_data_transmitted_bytes')).toEqual({ step: 'counted', perSecond: 0 })
  })
})

describe('formats', () => {
  it('JSON has whole numbers in full', () => {
    const text = exactJson(readingDocument(host))
    expect(text).toContain('"port_data_received_bytes":18446744073709551616')
    const { devices } = JSON.parse(text) as { devices: { device: string; ports: { priorities: object }[] }[] }
    expect(devices.find(({ device }) => device === 'mlx5_0')?.ports[0]?.priorities).toMatchObject({
      3: { counters: { pfc_pause_received: 41 } },
    })
  })

  it('CSV has as many cells in each line as in its head', () => {
    const lines = csvLines(host, new RateTracker().add(host))
    expect(lines.length).toBeGreaterThan(100)
    for (const line of lines) expect(line.split(',')).toHaveLength(csvHead.split(',').length)
    expect(lines).toContainEqual(expect.stringContaining('mlx5_0,1,3,pfc_pause_received,packets,41,,first'))
  })

  it('Prometheus: valid exposition, each series once, names of node_exporter', () => {
    const text = prometheusText(host)
    const series = new Set<string>()
    const families = new Map<string, string>()
    let family = ''
    for (const line of text.trimEnd().split('\n')) {
      const [, announced, type] = /^# TYPE (\S+) (counter|gauge)$/.exec(line) ?? []
      if (announced !== undefined) {
        expect(families.has(announced)).toBe(false)
        families.set(announced, type!)
        family = announced
      } else if (!line.startsWith('# HELP ')) {
        const [, name, labels, value] = /^([a-z0-9_]+)(\{[^}]*\})? (-?[\d.e+]+)$/.exec(line) ?? []
        expect([line, name]).toEqual([line, family])
        expect(series.has(`${name}${labels}`)).toBe(false)
        series.add(`${name}${labels}`)
        expect(Number(value)).not.toBeNaN()
      }
    }
    expect(text).toContain(
      'node_infiniband_port_data_transmitted_bytes_total{device="mlx5_0",port="1"} 1000000000000\n',
    )
    expect(text).toContain('verbena_infiniband_pfc_pause_received_total{device="mlx5_0",port="1",priority="3"} 41\n')
    expect(text).toContain('node_infiniband_rate_bytes_per_second{device="rxe0",port="1"} 312500000\n')
    expect(families.get('node_infiniband_state_id')).toBe('gauge')
  })
})

describe('damaged trees', () => {
  it('rubbish is counted and said, and all else is read', async () => {
    const folder = made(mlx5)
    const at = (path: string): string => join(folder, 'class/infiniband/mlx5_0', path)
    writeFileSync(at('ports/1/counters/symbol_error'), 'none\x1b[2J at all')
    writeFileSync(at('ports/1/counters/link_downed'), '99999999999999999999')
    writeFileSync(at('ports/1/counters/VL15_dropped'), 'N/A (no PMA)')
    writeFileSync(at('ports/1/hw_counters/lifespan'), '-3')
    writeFileSync(at('ports/1/state'), '')
    writeFileSync(at('ports/1/rate'), 'fast')
    rmSync(at('ports/1/counters/port_xmit_wait'))
    mkdirSync(at('ports/1/counters/port_xmit_wait'))
    symlinkSync('loop', at('ports/1/counters/loop'))
    symlinkSync('gone', at('ports/1/counters/vanished'))
    execFileSync('mkfifo', [at('ports/1/hw_counters/fifo')])
    const reading = await readHost({ root: folder })
    const problems = Object.fromEntries(
      reading.problems.map(({ path, what }) => [path.replace('sys/class/infiniband/mlx5_0/ports/1/', ''), what]),
    )
    expect(problems).toEqual({
      'counters/symbol_error': "is no counter: 'none?[2J at all'",
      'counters/link_downed': "is no counter: '99999999999999999999'",
      'counters/port_xmit_wait': 'is no file',
      'counters/loop': 'cannot be read (ELOOP)',
      'counters/vanished': 'has gone',
      'hw_counters/fifo': 'is no file',
      'hw_counters/lifespan': "is no number from 0 to 1000000: '-3'",
      state: 'is no state',
      rate: 'is no rate',
    })
    expect(reading.problemCount).toBe(9)
    expect(counted(portOf(reading, 'mlx5_0'), 'port_data_transmitted_bytes')).toBe(1_000_000_000_000n)
  })

  it('nothing, files instead of folders, an empty folder', async () => {
    expect((await readHost({ root: '/nonexistent' })).devices).toEqual([])
    const folder = made({ 'class/infiniband': 'a file', 'class/net': 'another', 'rdma-statistic.json': '[{' })
    const reading = await readHost({ root: folder })
    expect(reading.devices).toEqual([])
    expect(reading.problems).toEqual([{ path: 'sys/class/infiniband', what: 'cannot be read (ENOTDIR)' }])
  })

  it.skipIf(process.getuid?.() === 0)('what may not be read', async () => {
    const folder = made(mlx5)
    chmodSync(join(folder, 'class/infiniband/mlx5_0/ports/1/counters/symbol_error'), 0)
    expect((await readHost({ root: folder })).problems).toMatchObject([{ what: 'may not be read by this account' }])
  })

  it('rdma statistic qp tells what sets of queue pairs have counted, where it is asked for', async () => {
    const sets = [
      {
        ...{ ifindex: 3, ifname: 'mlx5_0', port: 1, cntn: 4, 'qp-type': 'RC', pid: 812, comm: 'ib_write_bw' },
        ...{ rx_write_requests: 7, out_of_sequence: 2, not_known: 5, resp_cqe_error: 'many', lqpn: [178, 179] },
      },
      { ifname: 'mlx5_0', port: 2, cntn: 1, comm: '[ib_core]', lqpn: [1] },
      'rubbish',
      { ifname: 'mlx5_9', port: 1, cntn: 1, out_of_sequence: 1, lqpn: [] },
    ]
    const folder = made({ ...mlx5, 'rdma-statistic-qp.json': JSON.stringify(sets) })
    const [device] = (await readHost({ root: folder, queuePairs: true })).devices
    const [one, two] = device!.ports
    expect(one!.queuePairs).toMatchObject([
      {
        set: 4,
        qpns: [178, 179],
        type: 'RC',
        pid: 812,
        program: 'ib_write_bw',
        others: [{ source: 'rdma/not_known' }],
      },
    ])
    expect(one!.queuePairs![0]!.readings.map(({ counter, value }) => [counter, value])).toEqual([
      ['rx_write_requests', 7n],
      ['out_of_sequence_packets_received', 2n],
    ])
    expect(two!.queuePairs).toMatchObject([{ set: 1, qpns: [1], type: undefined, readings: [], others: [] }])
    expect((await readHost({ root: folder })).devices[0]!.ports[0]!.queuePairs).toBeUndefined()
    const damaged = made({ ...mlx5, 'rdma-statistic-qp.json': '{' })
    expect((await readHost({ root: damaged, queuePairs: true })).problems).toMatchObject([
      { path: 'rdma-statistic-qp.json' },
    ])
  })

  it('rdma statistic that fails is a problem, unless it is not there', () => {
    const message = 'Command failed: rdma -j statistic'
    for (const [error, stderr, said] of [
      [{ code: 'ENOENT' }, '', undefined],
      [{ code: 'EACCES', message: 'spawn rdma EACCES' }, '', 'spawn rdma EACCES'],
      [{ code: 1 }, 'no such object\nmore\n', 'no such object'],
      [{ code: 2 }, '', message],
      [{ code: null, signal: 'SIGTERM', killed: true }, '', 'it did not end within 5 s'],
      [{ code: null, signal: 'SIGSEGV', killed: false }, '', 'it was ended by SIGSEGV'],
      [{ code: 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER', killed: true }, '', 'it printed more than 64 MiB'],
    ] as const)
      expect(failureOf({ message, ...error }, stderr)).toBe(said)
  })

  it('rdma statistic adds what sysfs has not, and rubbish in it does not matter', async () => {
    const links = [
      { ifname: 'mlx5_0', port: 1, out_of_buffer: 5, rdma_rx_bytes: 77, strange: -1, other: 'x', more: 8 },
      { ifname: 7, port: 'a' },
      null,
    ]
    // Beyond 2^53, as the kernel's 64 bits go, and beyond these; also in a text, where digits are none.
    const large =
      '{"ifname":"mlx5_0","port":2,"wide":18446744073709551615,"wider":18446744073709551616,"comm":"a:12345678901234567890"}'
    const text = JSON.stringify(links).replace('null', large)
    const folder = made({ ...mlx5, 'rdma-statistic.json': text, 'ethtool/ens1f0': 'no statistics' })
    const reading = await readHost({ root: folder })
    const port = portOf(reading, 'mlx5_0')
    expect(counted(port, 'rdma_data_received_bytes')).toBe(77n)
    expect(counted(port, 'out_of_buffer_drops')).toBe(0n)
    expect(port.others).toContainEqual({ source: 'rdma/more', value: 8n })
    expect(portOf(reading, 'mlx5_0', 2).others).toContainEqual({ source: 'rdma/wide', value: 2n ** 64n - 1n })
    expect(reading.problems.filter(({ path }) => path === 'rdma-statistic.json').map(({ what }) => what)).toEqual([
      'strange of mlx5_0/1 is no counter: -1',
      'wider of mlx5_0/2 is no counter: 18446744073709551616',
    ])
    const damaged = made({ ...mlx5, 'rdma-statistic.json': '{"a":' })
    expect((await readHost({ root: damaged })).problems).toMatchObject([{ path: 'rdma-statistic.json' }])
  })

  it('a folder with sys and proc is a tree as well', async () => {
    const whole = Object.fromEntries(Object.entries(mlx4).map(([path, text]) => [`sys/${path}`, text]))
    expect((await readHost({ root: made(whole) })).devices.map(({ name }) => name)).toEqual(['mlx4_0'])
  })
})
