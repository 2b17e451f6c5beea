/** Clients and servers of `verbena traffic`: flows by every verb and type, losses, servers that are down or die. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadResults, loadTrafficRecord } from '../../../src/report/index.ts'
import { summaryOf } from '../../../src/traffic/index.ts'
import { canShare, freePort, segment } from '../../cli/ends.ts'
import { begin, type Running, verbena } from '../../cli/in-process.ts'
import { loopbackDevice } from '../../loopback.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-traffic-'))
afterAll(() => rmSync(folder, { recursive: true }))

const device = segment()
let files = 0
function configuration(ports: readonly number[], rest: string): string {
  const path = join(folder, `${files++}.yaml`)
  writeFileSync(path, `servers: [${ports.map((port) => `"127.0.0.1:${port}"`).join()}]\n${rest}\n`)
  return path
}

interface Server {
  port: number
  running: Running
}

async function server(device: string, ...args: string[]): Promise<Server> {
  const port = Number(await freePort())
  const running = begin(['traffic', 'server', '-d', device, '-p', String(port), '--json', ...args])
  await running.says(/listening/)
  return { port, running }
}

/** The client's document, with its exit code. */
async function client(device: string, ports: readonly number[], rest: string, ...args: string[]) {
  const out = join(folder, `results-${files}`)
  const file = configuration(ports, rest)
  const running = begin(['traffic', 'client', file, '-d', device, '--json', '--out', out, ...args])
  const { code, stdout, stderr } = await running.outcome
  return { code, stderr, out, run: stdout === '' ? null : JSON.parse(stdout) }
}

const pairs = [
  { on: 'shm', from: device, to: device },
  { on: 'roce', from: loopbackDevice(1), to: loopbackDevice(2) },
]

describe.skipIf(!canShare).each(pairs)('traffic on $on', { timeout: 60_000 }, ({ from, to }) => {
  it('flows of all verbs, types and sizes are complete, and both ends count the same', async () => {
    const one = await server(to, '--once')
    const { code, run, out } = await client(
      from,
      [one.port],
      `count: 600
requests: 100k/s
size: { 0: 10, 3: 10, 8: 30, 4000: 30, 300KiB: 10, 1MiB: 10 }
verbs: { send: 25, send_with_imm: 15, write: 20, write_with_imm: 10, read: 15, fetch_add: 10, compare_swap: 5 }
types: { RC: 100 }
dscp: { 0: 1, 26: 1 }
qps: 2`,
    )
    expect(code).toBe(0)
    expect(run).toMatchObject({ asked: { requests: 600 }, all: { done: 600, lost: 0, failed: 0 }, failures: {} })
    expect(run.all.bytes).toBe(run.asked.bytes)
    const done = (verbs: string[]): number => verbs.reduce((sum, verb) => sum + run.verbs[verb].done, 0)
    expect(Object.keys(run.verbs).sort()).toEqual(
      ['compare_swap', 'fetch_add', 'read', 'send', 'send_with_imm', 'write', 'write_with_imm'].sort(),
    )
    expect(run.all.fct.max).toBeGreaterThanOrEqual(run.all.fct.p50)
    const { results } = loadResults(out)
    expect(results).toMatchObject({ tool: 'traffic', complete: true, sets: [{ all: run.all, verbs: run.verbs }] })
    expect(summaryOf(loadTrafficRecord(out, '001'))).toMatchObject({ all: run.all, sizes: run.sizes, types: run.types })
    expect(run.generated.sizes.ks).toBeLessThan(run.generated.sizes.limit)
    const served = JSON.parse((await one.running.outcome).stdout)
    expect(run.counted[`127.0.0.1:${one.port}`]).toMatchObject({ requests: served.requests })
    // Besides, the client measures how fast a small request is.
    const asked = done(['send', 'send_with_imm', 'write', 'write_with_imm'])
    expect(served.requests - asked).toBeGreaterThanOrEqual(0)
    expect(served.requests - asked).toBeLessThanOrEqual(50)
  })

  it('UC and UD flows come, or are counted as lost', async () => {
    const one = await server(to, '--once')
    const { code, run } = await client(
      from,
      [one.port],
      `count: 400
requests: 20k/s
size: { 0: 10, 2: 10, 64: 40, 9000: 40 }
verbs: { send: 60, send_with_imm: 20, write: 10, write_with_imm: 10 }
types: { UC: 50, UD: 50 }`,
    )
    expect(code).toBe(0)
    expect(run.all.done + run.all.lost).toBe(400)
    expect(run.all.failed).toBe(0)
    expect(run.types.UC.done).toBeGreaterThan(100)
    expect(run.types.UD.done).toBeGreaterThan(100)
    await one.running.outcome
  })

  it('push: the client sends, and the server receives', async () => {
    const one = await server(to, '--once')
    const { code, run } = await client(
      from,
      [one.port],
      'count: 300\nrequests: 50k/s\nflow: push\nsize: { 8: 50, 600KiB: 50 }\nverbs: { send: 50, write: 30, read: 20 }',
    )
    expect(code).toBe(0)
    expect(run.all).toMatchObject({ done: 300, failed: 0 })
    const served = JSON.parse((await one.running.outcome).stdout)
    expect(served.messages).toBeGreaterThanOrEqual(run.verbs.send.done)
    expect(served.bytes).toBeGreaterThanOrEqual(run.verbs.send.bytes)
  })

  it('-R: the RDMA CM connects queue pairs of all types', async () => {
    const one = await server(to, '--once')
    const { code, run } = await client(
      from,
      [one.port],
      `count: 300
requests: 20k/s
size: { 8: 50, 4000: 50 }
verbs: { send: 50, write: 30, read: 20 }
types: { RC: 60, UC: 20, UD: 20 }
dscp: { 0: 1, 26: 1 }`,
      '-R',
    )
    expect(code).toBe(0)
    expect(run.all.failed).toBe(0)
    expect(run.all.done + run.all.lost).toBe(300)
    expect(run.types.RC.lost).toBe(0)
    for (const type of ['RC', 'UC', 'UD']) expect(run.types[type].done).toBeGreaterThan(0)
    expect((await one.running.outcome).code).toBe(0)
  })
})

describe.skipIf(!canShare)('traffic', { timeout: 60_000 }, () => {
  it('a closed loop, phases, and a collective end by themselves', async () => {
    const ends = [await server(device), await server(device)]
    const ports = ends.map(({ port }) => port)
    const phases = await client(
      device,
      ports,
      `size: 64
phases:
- { duration: 50ms, requests: 2k/s }
- { duration: 50ms, arrival: { type: closed, depth: 4, think: 100us }, verbs: read }
- { duration: 50ms, requests: 1k/s, fanout: 2 }`,
    )
    expect([phases.code, phases.run.all.failed]).toEqual([0, 0])
    expect(phases.run.all.done).toBe(phases.run.asked.requests)
    expect(phases.run.verbs.read.done).toBeGreaterThanOrEqual(4)
    const closed = await client(device, ports, 'size: 64\ncount: 40\nverbs: read\narrival: { type: closed, depth: 4 }')
    expect([closed.code, closed.run.verbs.read.done]).toEqual([0, 40])
    const ring = await client(
      device,
      ports,
      'flow: push\ncollective: { name: ring-all-reduce, size: 1MiB, iterations: 5 }',
    )
    expect([ring.code, ring.run.all.done, ring.run.all.bytes]).toEqual([0, 10, 5 * 2 ** 20])
    for (const { running } of ends) running.interrupt()
    for (const { running } of ends) expect((await running.outcome).code).toBe(130)
  })

  it('the results of clients merge, and what does not belong together is refused', async () => {
    const one = await server(device)
    const yaml = 'count: 300\nrequests: 20k/s\nsize: { 8: 50, 4000: 50 }'
    const parts = await Promise.all(['0', '1'].map((number) => client(device, [one.port], yaml, '--client', number)))
    const other = await client(device, [one.port], 'count: 10\nrequests: 20k/s\nsize: 8', '--client', '2')
    one.running.interrupt()
    await one.running.outcome
    const dirs = parts.map(({ out }) => out)
    const merged = join(folder, 'merged')
    const { code, stdout } = await verbena('traffic', 'merge', ...dirs, '--out', merged, '--json')
    expect(code).toBe(0)
    const both = JSON.parse(stdout)
    expect(both).toMatchObject({ clients: [0, 1], settings: { clients: 2, servers: 1 }, all: { done: 600, failed: 0 } })
    expect(both.all.bytes).toBe(parts.reduce((sum, { run }) => sum + run.all.bytes, 0))
    expect(both.all.fct.max).toBe(Math.max(...parts.map(({ run }) => run.all.fct.max)))
    const counted = parts.reduce((sum, { run }) => sum + run.counted[`127.0.0.1:${one.port}`].requests, 0)
    expect(both.counted[`127.0.0.1:${one.port}`].requests).toBe(counted)
    for (const [wrong, message] of [
      [[dirs[0]!, other.out], /results-\d+ are of different configurations: count is 300 and 10/],
      [[dirs[0]!, dirs[0]!], /are both of client 0: each client needs a number of its own/],
      [[folder], /this directory has no run\.json/],
    ] as const) {
      const refused = await verbena('traffic', 'merge', ...wrong, '--out', join(folder, 'refused'))
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(message)])
    }
    expect(existsSync(join(folder, 'refused'))).toBe(false)
  })

  it('flows with a rate take their time', async () => {
    const one = await server(device, '--once')
    const { run } = await client(device, [one.port], 'count: 1\nsize: 1MiB\nrate: 80Mbps\nrequests: 1k/s')
    // 1 MiB at 10 MB/s, less the first message, which goes at once.
    expect(run.all.fct.min).toBeGreaterThan(100e6)
    await one.running.outcome
  })

  it('a server that is down is counted, and the others go on', async () => {
    const one = await server(device, '--once')
    const down = Number(await freePort())
    const { code, run } = await client(device, [one.port, down], 'count: 200\nrequests: 20k/s\nsize: 8')
    expect(code).toBe(1)
    expect(Object.keys(run.unreachable)).toEqual([`127.0.0.1:${down}`])
    expect(run.all.done + run.all.failed).toBe(200)
    expect(run.servers[`127.0.0.1:${one.port}`].failed).toBe(0)
    expect(run.servers[`127.0.0.1:${down}`]).toMatchObject({ done: 0 })
    await one.running.outcome
  })

  it('a server that dies is counted, and the others go on', async () => {
    const [one, two] = [await server(device, '--once'), await server(device, '--once')]
    const yaml = 'count: 20000\nrequests: 20k/s\nsize: 8\nverbs: { send: 50, write: 50 }'
    const out = join(folder, 'died')
    const running = begin(['traffic', 'client', configuration([one.port, two.port], yaml), '-d', device, '--out', out])
    await running.says(/connected to 2 of 2 servers/)
    one.running.interrupt()
    expect((await one.running.outcome).code).toBe(130)
    const { code, stdout, stderr } = await running.outcome
    expect(code).toBe(1)
    expect(stderr).toMatch(new RegExp(`^verbena: 127.0.0.1:${one.port}: .`, 'm'))
    const row = (port: number): number[] =>
      new RegExp(`^127\\.0\\.0\\.1:${port} +(\\d+) +(\\d+) +(\\d+) `, 'm').exec(stdout)!.slice(1).map(Number)
    const [dead, alive] = [row(one.port), row(two.port)]
    expect(dead[2]).toBeGreaterThan(0)
    expect(alive[2]).toBe(0)
    expect([...dead, ...alive].reduce((sum, count) => sum + count, 0)).toBe(20_000)
    expect((await two.running.outcome).code).toBe(0)
  })

  it('says why when no server can be used, or when it does not agree', async () => {
    const down = Number(await freePort())
    const none = await client(device, [down], 'size: 8')
    expect([none.code, none.run]).toEqual([2, null])
    expect(none.stderr).toMatch(/^verbena: servers: none can be used: 127\.0\.0\.1:\d+: nobody listens on /)
    const one = await server(segment(), '--once')
    const apart = await client(device, [one.port], 'size: 8')
    expect([apart.code, apart.stderr]).toEqual([2, expect.stringMatching(/different segments/)])
    expect((await one.running.outcome).code).toBe(1)
  })
})
