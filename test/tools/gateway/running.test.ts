/** `verbena gateway node`, `signal` and `pipe`: gateways that run. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { version } from '../../../src/cli/terminal/index.ts'
import { command } from '../../built.ts'
import { begin, verbena } from '../../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-gateway-'))
afterAll(() => rmSync(folder, { recursive: true }))

function config(name: string, settings: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(settings))
  return path
}

const counter = { type: 'signal', signal: 'counter', realtime: false, limit: 100 }

describe('gateway node', () => {
  it('runs until its sources have ended, and says what was done', async () => {
    const to = join(folder, 'ended.dat')
    const file = config('ended.json', {
      idle_stop: true,
      nodes: { source: counter, loop: { type: 'loopback' }, sink: { type: 'file', uri: to } },
      paths: [
        { in: 'source', out: 'loop' },
        { in: 'loop', out: 'sink' },
      ],
    })
    const { code, stdout, stderr } = await verbena('gateway', 'node', file)
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toMatch(
      /^stopped after \d\.\d s: 2 paths received 200 samples and sent 200; lost 0, missed steps 0\n$/,
    )
    expect(readFileSync(to, 'utf8').split('\n')).toHaveLength(102)
  })

  it('has it all as one document with --json', async () => {
    const file = config('json.json', { idle_stop: true, nodes: { source: counter }, paths: [{ in: 'source' }] })
    const { code, stdout } = await verbena('gateway', 'node', file, '--json')
    const found = JSON.parse(stdout)
    expect(code).toBe(0)
    expect(found).toMatchObject({
      failures: [],
      nodes: [{ name: 'source', type: 'signal', state: 'stopped', counts: { read: 100 } }],
      paths: [{ text: 'source → nothing', state: 'stopped', counts: { received: 100, sent: 100 } }],
    })
  })

  it('stops in order when it is interrupted: what was sent is written', async () => {
    const to = join(folder, 'stopped.dat')
    const file = config('stopped.json', {
      nodes: { source: { type: 'signal', rate: 500 }, loop: { type: 'loopback' }, sink: { type: 'file', uri: to } },
      paths: [
        { in: 'loop', out: 'sink' },
        { in: 'source', out: 'loop' },
      ],
    })
    const running = begin(['gateway', 'node', file, '--json', '-d', 'debug'])
    await running.says(/waits by/)
    running.interrupt()
    const { code, stdout, stderr } = await running.outcome
    expect(code).toBe(130)
    expect(stderr).toContain('Stopping in order')
    const { nodes } = JSON.parse(stdout) as { nodes: { name: string; counts: Record<string, number> }[] }
    const counts = (name: string) => nodes.find((node) => node.name === name)!.counts
    expect(counts('sink').written).toBe(counts('source').read)
    const lines = counts('source').read === 0 ? 0 : readFileSync(to, 'utf8').split('\n').length - 2
    expect(lines).toBe(counts('source').read)
  })

  it('names mistakes, and nodes that cannot start', async () => {
    const wrong = config('wrong.json', { nodes: { source: { type: 'signal', rat: 1 } }, paths: [{ in: 'source' }] })
    const mistakes = await verbena('gateway', 'node', wrong)
    expect(mistakes.code).toBe(1)
    expect(mistakes.stderr).toMatch(/wrong\.json:1: node source has no setting 'rat'\. Did you mean 'rate'\?/)
    const missing = config('missing.json', {
      nodes: { source: { type: 'file', uri: join(folder, 'nowhere') } },
      paths: [{ in: 'source' }],
    })
    const failed = await verbena('gateway', 'node', missing)
    expect(failed.code).toBe(1)
    expect(failed.stderr).toMatch(/verbena: node source cannot start: ENOENT/)
  })
})

describe('as villas node has them', () => {
  it('-C: what there is, as JSON; -V: the version; neither needs a configuration', async () => {
    const { code, stdout } = await verbena('gateway', 'node', '-C')
    expect(code).toBe(0)
    const { apis, nodes, formats, hooks } = JSON.parse(stdout)
    expect([apis.includes('node/stats/reset'), nodes.includes('loopback')]).toEqual([true, true])
    expect([formats.includes('csv'), hooks.includes('scale')]).toEqual([true, true])
    for (const tool of ['node', 'pipe', 'signal', 'convert', 'compare', 'hook', 'check'])
      expect(await verbena('gateway', tool, '-V')).toMatchObject({ code: 0, stdout: `${version}\n` })
    const missing = await verbena('gateway', 'node')
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('config: it is missing')])
  })

  it('-d: how much is said', async () => {
    const said = async (...args: string[]) => (await verbena('gateway', 'signal', 'sine', '-r', '1000', ...args)).stderr
    expect(await said('-l', '3', '-d', 'debug')).toMatch(/waits by/)
    expect(await said('-l', '3', '-d', 'off')).toBe('')
    expect(await said('-d', 'loud')).toContain("--log: 'loud' is not valid. Expected trace, debug, info, warning")
  })
})

describe('gateway signal', () => {
  it('generates samples as fast as they are taken', async () => {
    const { code, stdout } = await verbena('gateway', 'signal', 'counter', '-n', '-v', '2', '-l', '1000', '-a', '0.5')
    const lines = stdout.split('\n').slice(1, -1)
    expect(code).toBe(0)
    expect(lines).toHaveLength(1000)
    expect(lines[999]).toMatch(/\(999\)\t499\.5\d*\t499\.5\d*$/)
  })

  it('keeps to a rate: steps are written or missed', async () => {
    const { stdout, stderr } = await verbena('gateway', 'signal', 'ramp', '-r', '500', '-l', '20', '-f', 'csv')
    const sequences = stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => Number(line.split(',')[3]))
    const missed = Number(/missed (\d+|one) step/.exec(stderr)?.[1]?.replace('one', '1') ?? 0)
    // A machine that is busy may miss them all.
    expect(sequences.length + missed).toBeGreaterThan(0)
    expect(sequences).toEqual([...new Set(sequences.filter((sequence) => sequence >= 0))].toSorted((a, b) => a - b))
    // The limit counts missed steps; those behind the last sample may be missed, too.
    expect(sequences.length + missed).toBeLessThanOrEqual(20 + missed)
    expect((sequences.at(-1) ?? -1) + 1 - sequences.length).toBeLessThanOrEqual(missed)
  })

  it.each([
    [['sinus'], /^verbena: type: 'sinus' is not valid\. Expected mixed/],
    [['sine', '-a', 'x'], /^verbena: --amplitude: 'x' is not valid\. Expected a number/],
    [['sine', '-r', '0'], /^verbena: --rate: '0' is not valid/],
    [['sine', '-f', 'cvs'], /^verbena: --format: 'cvs' is not known\. Did you mean 'csv'\?/],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await verbena('gateway', 'signal', ...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

describe('gateway pipe', () => {
  const lab = config('lab.json', { nodes: { loop: { type: 'loopback', queuelen: 1024 } } })

  function pipe(input: string, ...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = spawn(process.execPath, [command, 'gateway', 'pipe', lab, ...args])
    const texts = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => {
      texts.stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      texts.stderr += chunk
    })
    child.stdin.end(input)
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...texts })))
  }

  const lines = Array.from({ length: 5 }, (_, i) => `10.000000000(${i})\t${i}.00000000000000000\n`).join('')

  it('passes standard input through a node to standard output', async () => {
    const { code, stdout, stderr } = await pipe(lines, 'loop', '-t', '1f', '-l', '3')
    expect([code, stderr]).toEqual([0, ''])
    const values = stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => line.replace(/\+.*\(/, '('))
    expect(values).toEqual([
      '10.000000000(0)\t0.00000000000000000',
      '10.000000000(1)\t1.00000000000000000',
      '10.000000000(2)\t2.00000000000000000',
    ])
  })

  it('starts the HTTP of a websocket node that is a server', async () => {
    const token = 'sixteen-letters-and-more'
    const web = { type: 'websocket', format: 'json', in: { signals: '1f' } }
    const file = config('web.json', { http: { port: 0, token }, nodes: { web } })
    // Samples go to the standard output of the process.
    const child = spawn(process.execPath, [command, 'gateway', 'pipe', file, 'web', '-r', '-l', '1', '-f', 'csv'])
    let stdout = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    const ended = once(child, 'close')
    const [line] = await once(child.stderr, 'data')
    const address = /http:\/\/([\d.:]+)/.exec(String(line))?.[1]
    const peer = new WebSocket(`ws://${address}/web?token=${token}`, 'live')
    peer.on('open', () => peer.send('[{"sequence": 7, "data": [1.5]}]'))
    expect([...(await ended), stdout]).toEqual([0, null, expect.stringMatching(/,7,1\.5/)])
  })

  it('says which nodes there are', async () => {
    const { code, stderr } = await pipe('', 'lop')
    expect(code).toBe(2)
    expect(stderr).toMatch(/has no node 'lop'\. It has: loop/)
  })
})
