/** `verbena collect counters` and `l2`, on recorded trees. */
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { begin, verbena } from '../../cli/in-process.ts'
import { everything, writeTree } from '../../collect/trees.ts'

const root = writeTree(everything)
const empty = writeTree({ 'class/infiniband/.keep': '' })
afterAll(() => {
  for (const folder of [root, empty]) rmSync(folder, { recursive: true, force: true })
})
const from = ['--sysfs-root', root]

describe('verbena collect counters', () => {
  it('shows what is not zero, with notes', async () => {
    const { code, stdout, stderr } = await verbena('collect', 'counters', ...from)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^mlx5_0\/1 +port_data_received_bytes +18446744073709551616 +bytes$/m)
    expect(stdout).toMatch(/^mlx5_0\/1 +pfc_pause_received \(priority 3\) +41 +packets$/m)
    expect(stdout).toMatch(/^mlx4_0\/1 +symbol_error +65535 +events +at its end: at least$/m)
    expect(stdout).not.toMatch(/ duplicate_requests_packets /)
    expect((await verbena('collect', 'counters', ...from, '--all')).stdout).toMatch(/ duplicate_requests_packets +0 /)
  })

  it('of one device as JSON, CSV and for Prometheus', async () => {
    const json = await verbena('collect', 'counters', ...from, '-d', 'rxe0', '--json')
    const { devices } = JSON.parse(json.stdout) as { devices: { device: string; driver: string }[] }
    expect(devices).toMatchObject([{ device: 'rxe0', driver: 'rxe', ports: [{ counters: { tx_send_requests: 10 } }] }])
    const csv = await verbena('collect', 'counters', ...from, '-d', 'rxe0,hns_0', '--csv')
    expect(csv.stdout).toMatch(/^time,device,/)
    expect(csv.stdout).toMatch(/^\S+Z,hns_0,1,,rdma_packets_received,packets,8,,first$/m)
    const metrics = await verbena('collect', 'counters', ...from, '--prometheus')
    expect(metrics.stdout).toMatch(/^# HELP node_infiniband_info /)
    expect([json.code, csv.code, metrics.code]).toEqual([0, 0, 0])
  })

  it('again and again: rates, until it is enough', async () => {
    const folder = writeTree(everything)
    const running = begin([
      ...['collect', 'counters', '--sysfs-root', folder, '-d', 'rxe0'],
      ...['--interval', '0.05', '--json'],
    ])
    await running.says(/"time"/)
    writeFileSync(join(folder, 'class/infiniband/rxe0/ports/1/hw_counters/sent_pkts'), '5000')
    await running.says(/"rdma_packets_transmitted":5000/)
    running.interrupt()
    const { code, stdout } = await running.outcome
    expect(code).toBe(130)
    const rates = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { devices: { ports: { perSecond: Record<string, number | null> }[] }[] })
      .map(({ devices }) => devices[0]!.ports[0]!.perSecond.rdma_packets_transmitted)
    expect(rates[0]).toBeNull()
    expect(rates.some((rate) => typeof rate === 'number' && rate > 0)).toBe(true)
    const two = await verbena('collect', 'counters', ...from, '-d', 'hns_0', '--interval', '0.01', '--count', '2')
    expect(two.stdout.match(/^port +counter +value +unit +per second/gm)).toHaveLength(2)
    rmSync(folder, { recursive: true, force: true })
  })

  it('serves scrapes until it is ended', async () => {
    const running = begin(['collect', 'counters', ...from, '--listen', '0'])
    await running.says(/Serving counters at/)
    running.interrupt('SIGTERM')
    const { code, stderr } = await running.outcome
    // It was stopped in order, as services are.
    expect(code).toBe(0)
    const [, url, token] = /(http:\/\/127\.0\.0\.1:\d+\/metrics) \(credentials: the token (\S+);/.exec(stderr) ?? []
    expect([url, token?.length]).toEqual([expect.any(String), 43])
  })

  it('and answers them', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const taken = await verbena('collect', 'counters', ...from, '--listen', String(port))
    expect([taken.code, taken.stderr]).toEqual([2, expect.stringMatching(/--listen: .*EADDRINUSE/)])
    other.close()
    await once(other, 'close')
    const running = begin(['collect', 'counters', ...from, '--listen', `127.0.0.1:${port}`, '--no-token'])
    await running.says(/Serving/)
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(await response.text()).toContain('node_infiniband_state_id{device="rxe0",port="1"} 4\n')
    expect((await fetch(`http://127.0.0.1:${port}/nothing`)).status).toBe(404)
    running.interrupt()
    expect((await running.outcome).code).toBe(130)
  })

  it('says what it could not read, and goes on', async () => {
    const folder = writeTree(everything)
    writeFileSync(join(folder, 'class/infiniband/rxe0/ports/1/hw_counters/sent_pkts'), 'rubbish')
    const { code, stdout, stderr } = await verbena('collect', 'counters', '--sysfs-root', folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/rdma_packets_received/)
    expect(stderr).toMatch(/^One file could not be read[\s\S]*sent_pkts is no counter: 'rubbish'/)
    rmSync(folder, { recursive: true, force: true })
  })

  it.each([
    [['--sysfs-root', '/nonexistent'], 2, /--sysfs-root: there is no folder/],
    [['--sysfs-root', empty], 1, /There is no RDMA device in this tree/],
    [[...from, '-d', 'mlx5_9'], 2, /-d: no RDMA device is called 'mlx5_9'; there are hns_0, /],
    [[...from, '--ib-port', 'x'], 2, /--ib-port: 'x' is not valid/],
    [[...from, '--count', '3'], 2, /--count: needs --interval/],
    [[...from, '--interval', '0'], 2, /--interval: '0' is not valid/],
    [[...from, '--json', '--csv'], 2, /cannot be used with/],
    [[...from, '--listen', 'here'], 2, /--listen: 'here' is not valid/],
  ])('%j ends with %i', async (args, expected, message) => {
    const { code, stderr } = await verbena('collect', 'counters', ...args)
    expect(stderr).toMatch(message)
    expect(code).toBe(expected)
  })
})

describe('verbena collect l2', () => {
  it('shows ports, GIDs, interfaces and findings', async () => {
    const { code, stdout, stderr } = await verbena('collect', 'l2', ...from)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^mlx5_0\/1 +mlx5 +Ethernet +ACTIVE +100 Gb\/sec \(4X EDR\) +ens1f0$/m)
    expect(stdout).toMatch(/^mlx5_0\/1 +3 +::ffff:10\.0\.0\.7 +RoCE v2 +ens1f0$/m)
    expect(stdout).toMatch(/^warning +ens1f0: MTU 1500 gives path MTU 1024: /m)
    expect(stderr).toMatch(/Not read: PFC, ETS and DSCP map of ens1f0: /)
  })

  it('as JSON, of one device', async () => {
    const { code, stdout } = await verbena('collect', 'l2', 'rxe0', ...from, '--json')
    const { ports, findings } = JSON.parse(stdout) as { ports: { device: string }[]; findings: unknown[] }
    expect([code, ports.map(({ device }) => device), findings.length > 0]).toEqual([0, ['rxe0'], true])
  })

  it.each([
    [['nothing0', ...from], 2, /nothing0: is no RDMA device and no Ethernet interface/],
    [['--sysfs-root', empty], 1, /There is no RDMA port and no Ethernet interface/],
  ])('%j ends with %i', async (args, expected, message) => {
    const { code, stderr } = await verbena('collect', 'l2', ...args)
    expect(stderr).toMatch(message)
    expect(code).toBe(expected)
  })

  it('works on this host', async () => {
    const { code, stderr } = await verbena('collect', 'l2', '--json')
    expect([0, 1]).toContain(code)
    expect(stderr).not.toMatch(/Error/)
  })
})
