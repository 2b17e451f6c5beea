/** Benchmarks on `roce`, and another signal than bench.test.ts has. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { verbena } from '../../cli/run.ts'
import { loopbackDevice } from '../../loopback.ts'
import { savesOn } from './interrupted.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('verbena bench', () => {
  it('runs on roce as on shm', async () => {
    const spread = ['--burst', '50', '--warmup', '10', '--pause', '100000']
    const devices = `${loopbackDevice(1)},${loopbackDevice(2)}`
    const services = [
      '--service',
      'RC,UC,UD',
      '--op',
      'send-imm,write-imm',
      '--size',
      '8,4096',
      '--json',
      '--out',
      join(folder, 'latency'),
    ]
    const latency = await verbena('bench', 'latency', '--device', devices, ...spread, ...services)
    expect(latency.code, latency.stderr).toBe(0)
    const { runs } = JSON.parse(latency.stdout)
    expect(runs).toHaveLength(10)
    for (const { lat, settings } of runs) if (settings.service === 'RC') expect(lat.count).toBe(50)
    const quick = [
      '--concurrent',
      '4',
      '--messages',
      '200',
      '--warmup',
      '10',
      '--json',
      '--out',
      join(folder, 'throughput'),
    ]
    const throughput = await verbena('bench', 'throughput', '--device', devices, ...quick)
    expect(throughput.code, throughput.stderr).toBe(0)
    expect(JSON.parse(throughput.stdout).runs).toHaveLength(7)
  })

  savesOn('SIGTERM')
})
