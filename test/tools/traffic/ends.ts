/** Clients and servers of `verbena traffic` in this process, and flows that arrive on every device. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadResults, loadTrafficRecord } from '../../../src/report/index.ts'
import { summaryOf } from '../../../src/traffic/index.ts'
import { canShare, freePort, segment } from '../../cli/ends.ts'
import { begin, type Running } from '../../cli/in-process.ts'

export const folder: string = mkdtempSync(join(tmpdir(), 'verbena-traffic-'))
afterAll(() => rmSync(folder, { recursive: true }))

export const device: string = segment()
let files = 0
export function configuration(ports: readonly number[], rest: string): string {
  const path = join(folder, `${files++}.yaml`)
  writeFileSync(path, `servers: [${ports.map((port) => `"127.0.0.1:${port}"`).join()}]\n${rest}\n`)
  return path
}

export interface Server {
  port: number
  running: Running
}

export async function server(device: string, ...args: string[]): Promise<Server> {
  const port = Number(await freePort())
  const running = begin(['traffic', 'server', '-d', device, '-p', String(port), '--json', ...args])
  await running.says(/listening/)
  return { port, running }
}

export interface Ended {
  code: number | null
  stderr: string
  /** The folder of its results. */
  out: string
  /** Its document. */
  // biome-ignore lint/suspicious/noExplicitAny: each test looks at other parts of it
  run: any
}

export async function client(
  device: string,
  ports: readonly number[],
  rest: string,
  ...args: string[]
): Promise<Ended> {
  const out = join(folder, `results-${files}`)
  const file = configuration(ports, rest)
  const running = begin(['traffic', 'client', file, '-d', device, '--json', '--out', out, ...args])
  const { code, stdout, stderr } = await running.outcome
  return { code, stderr, out, run: stdout === '' ? null : JSON.parse(stdout) }
}

/** Of client and server. */
export function flowsArrive(on: string, from: string, to: string): void {
  describe.skipIf(!canShare)(`traffic on ${on}`, { timeout: 60_000 }, () => {
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
      expect(summaryOf(loadTrafficRecord(out, '001'))).toMatchObject({
        all: run.all,
        sizes: run.sizes,
        types: run.types,
      })
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
      expect(run.all).toMatchObject({ done: 400 - run.all.lost, failed: 0 })
      expect(run.types.UC.done).toBeGreaterThan(100)
      expect(run.types.UD.done).toBeGreaterThan(100)
      // Nothing drops anything on the way.
      if (on === 'shm') expect(run.all.lost).toBe(0)
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
      expect(on === 'shm' ? run.all.lost : run.types.RC.lost).toBe(0)
      for (const type of ['RC', 'UC', 'UD']) expect(run.types[type].done).toBeGreaterThan(0)
      expect((await one.running.outcome).code).toBe(0)
    })
  })
}
