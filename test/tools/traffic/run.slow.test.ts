/** Clients and servers of `verbena traffic` on `shm`: phases, collectives, results that merge, and a server that dies. */
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { canShare } from '../../cli/ends.ts'
import { begin, verbena } from '../../cli/in-process.ts'

import { client, configuration, device, folder, server } from './ends.ts'

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
})
