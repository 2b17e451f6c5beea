import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Collector } from '../../../src/monitor/host/index.ts'
import { monitorConfig } from '../../../src/monitor/index.ts'
import { verbena } from '../../cli/in-process.ts'
import { relay } from '../../monitor/host/relay.ts'
import { sparseCapture } from '../../monitor/host/sparse.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-plans-'))
afterAll(() => rmSync(folder, { recursive: true }))
const [token, file] = [join(folder, 'token'), join(folder, 'capture.pcap')]
const secret = '0123456789abcdef0123'
writeFileSync(token, `${secret}\n`)
const packets = 400
writeFileSync(file, sparseCapture(packets))

for (const workers of ['1', '2'])
  it(`an agent that reads a file with ${workers} workers goes on when its collector begins anew with another seed`, async () => {
    const { url, way, close } = await relay()
    let seen = 0
    let count = 0
    const started = (seed: number, onWindow: () => void) =>
      Collector.start({
        ...{ plan: monitorConfig({ seed, memoryBytes: 2 ** 20 }), token: secret, host: '127.0.0.1', port: 0 },
        onNote: () => {},
        onWindow: (window) => {
          seen += window.count('packets')
          count += window.count('unsent')
          onWindow()
        },
      })
    let second: Promise<Collector> | undefined
    const first = await started(1, () => {
      if (second !== undefined || seen < packets / 8) return
      way.to = undefined
      second = started(2, () => {})
      void second.then(async (collector) => {
        await first.close()
        way.to = collector
      })
    })
    way.to = first
    const { code, stderr } = await verbena(
      'monitor',
      file,
      '--collector',
      url,
      '--token-file',
      token,
      '--workers',
      workers,
    )
    const last = await second!
    expect(last.agents().every(({ windows }) => windows > 1)).toBe(true)
    await last.close()
    close()
    expect(stderr).toContain('have another seed')
    const [, lost = '0'] = /(\d+) windows could not be delivered/.exec(stderr) ?? []
    // Each window has one packet. What is lost is said, and is in a window that came later.
    expect(code).toBe(1)
    expect(Number(lost)).toBeGreaterThan(0)
    expect(seen).toBeGreaterThan(packets - 100)
    expect(seen + Number(lost)).toBeGreaterThanOrEqual(packets)
    // Observers in threads do not know of it.
    if (workers === '1') expect(count).toBeGreaterThan(0)
  })
