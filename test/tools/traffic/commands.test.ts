/** `verbena traffic cdf` and `client --dry-run` as commands. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { presets } from '../../../src/traffic/index.ts'
import { verbena } from '../../cli/in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-traffic-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('traffic cdf', () => {
  it('lists the presets', async () => {
    const { code, stdout } = await verbena('traffic', 'cdf')
    expect(code).toBe(0)
    for (const { name } of presets) expect(stdout).toMatch(new RegExp(`^${name} `, 'm'))
    const { presets: listed } = JSON.parse((await verbena('traffic', 'cdf', '--json')).stdout)
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(presets.map(({ name }) => name))
  })

  it('draws one: full where all messages are smaller, empty where none is', async () => {
    const { code, stdout } = await verbena('traffic', 'cdf', file('own.txt', '10 0\n1000 50\n1000 100\n'))
    expect(code).toBe(0)
    const rows = stdout.split('\n').filter((line) => line.includes('▏'))
    expect(rows).toHaveLength(10)
    expect(rows[9]).toMatch(/▏ .*█$/)
    expect(rows[0]).toMatch(/^100 % ▏ +█$/)
    expect(stdout).toMatch(/^mean 752\.5 B$/m)
  })

  it('gives it as JSON, by any rule', async () => {
    const { stdout } = await verbena('traffic', 'cdf', 'WebSearch', '--json', '--interpolation', 'log')
    const found = JSON.parse(stdout)
    expect(found).toMatchObject({ name: 'WebSearch', interpolation: 'log', max: 3e7 })
    expect(found.points).toHaveLength(12)
    expect(found.mean).toBeLessThan(1_711_250)
  })

  it('exits with 2 for what is none', async () => {
    expect(await verbena('traffic', 'cdf', 'WebSerch')).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: "verbena: 'WebSerch' is neither a preset nor a file. Did you mean 'WebSearch'?\n",
    })
    const falling = file('falling.txt', '0 0\n100 60\n200 50\n')
    const { code, stderr } = await verbena('traffic', 'cdf', falling)
    expect([code, stderr]).toEqual([2, `verbena: ${falling}:3: cumulative shares fall: 50 % after 60 %\n`])
  })
})

describe('traffic client --dry-run', () => {
  const web = new URL('../../../examples/traffic/web.yaml', import.meta.url).pathname

  it('writes the same bytes for the same seed', async () => {
    const runs = await Promise.all(
      ['1', '1', '2'].map((seed) => verbena('traffic', 'client', web, '--dry-run', '--count', '200', '--seed', seed)),
    )
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([[0, ''], [0, ''], [0, '']]) // biome-ignore format: row
    expect(runs[0]!.stdout.split('\n')).toHaveLength(201)
    expect(runs[0]!.stdout).toBe(runs[1]!.stdout)
    expect(runs[0]!.stdout).not.toBe(runs[2]!.stdout)
  })

  it.each(['web.yaml', 'rpc.yaml', 'all-reduce.yaml', 'incast.txt'])('reads examples/traffic/%s', async (name) => {
    const path = web.replace('web.yaml', name)
    const { code, stdout, stderr } = await verbena('traffic', 'client', path, '--dry-run', '--count', '50')
    expect([code, stderr]).toEqual([0, ''])
    const lines = stdout.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: row
    expect(lines).toHaveLength(50)
    for (const line of lines) expect(Object.keys(line).join()).toBe('time,server,size,verb,type,dscp,rate,group')
  })

  it('ends after the duration, at the load', async () => {
    const { stdout } = await verbena('traffic', 'client', web, '--dry-run', '--duration', '60', '--load', '0.8')
    const lines = stdout.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: row
    const bits = lines.reduce((sum, { size }) => sum + size * 8, 0)
    expect(Math.abs(bits / 60 / 1.6e9 - 1)).toBeLessThan(0.05)
    expect(lines.at(-1).time).toBeLessThan(60e9)
  })

  it('exits with 2 and names each mistake', async () => {
    const wrong = file('wrong.yaml', 'servers: [a]\nsiz: 4\n')
    const { code, stdout, stderr } = await verbena('traffic', 'client', wrong, '--dry-run')
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      `verbena: ${wrong}:2: siz: there is no such key. Did you mean 'size'?\n`,
    ])
    expect((await verbena('traffic', 'client', join(folder, 'none'), '--dry-run')).stderr).toMatch(
      /there is no such file/,
    )
    expect((await verbena('traffic', 'client', web, '--dry-run', '--count', 'x')).code).toBe(2)
  })
})
