/** Clients and servers of `verbena traffic` on `shm`: flows by every verb and type, losses, servers that are down or die. */
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { canShare, freePort, segment } from '../../cli/ends.ts'
import { begin, verbena } from '../../cli/in-process.ts'

import { client, configuration, device, flowsArrive, folder, server } from './ends.ts'

flowsArrive('shm', device, device)

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
    const alias = join(folder, 'alias')
    symlinkSync(dirs[1]!, alias)
    const before = readFileSync(join(dirs[1]!, 'run.json'), 'utf8')
    const onto = await verbena('traffic', 'merge', ...dirs, '--out', alias)
    expect([onto.code, onto.stderr]).toEqual([2, expect.stringMatching(/--out: .*alias has the results of a client/)])
    expect(readFileSync(join(dirs[1]!, 'run.json'), 'utf8')).toBe(before)
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

  it('a server that ends while it connects is counted, and the others go on', async () => {
    const ends = [await server(device), await server(device)]
    // Between the client and the second one: goes away when the client has said where its queue pairs are.
    const between = createServer((one) => {
      const other = connect(ends[1]!.port, '127.0.0.1')
      for (const socket of [one, other]) socket.on('error', () => undefined)
      other.pipe(one)
      one.on('data', (data) => {
        if (!data.includes('"connect"')) other.write(data)
        else for (const socket of [one, other]) socket.destroy()
      })
    })
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
    const { port } = between.address() as AddressInfo
    const { code, run } = await client(device, [ends[0]!.port, port], 'count: 200\nrequests: 100k/s\nsize: 100')
    between.close()
    expect(code).toBe(1)
    expect(Object.keys(run.unreachable)).toEqual([`127.0.0.1:${port}`])
    expect(run.all.done + run.all.failed).toBe(200)
    expect(run.servers[`127.0.0.1:${ends[0]!.port}`]).toMatchObject({ failed: 0, done: run.all.done })
    expect(run.all.done).toBeGreaterThan(0)
    for (const { running } of ends) running.interrupt()
    await Promise.all(ends.map(({ running }) => running.outcome))
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
