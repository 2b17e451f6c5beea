/** A connection between two processes goes on while others come to their segment, leave it, and are killed in it. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { RpingResult } from '../../src/tools/rping/run.ts'
import { canShare, segment } from '../cli/ends.ts'
import { outcome, startProcess, startScript } from '../cli/run.ts'

const comer = fileURLToPath(new URL('./come-and-go.mjs', import.meta.url))
const pings = 40_000

describe.skipIf(!canShare)('a segment with much coming and going', () => {
  it('leaves those alone who stay', async () => {
    const device = segment()
    const common = ['rping', '-a', '127.0.0.1', '-S', '1000', '--device', device, '--json']
    let over = false
    const ends = Promise.all([
      outcome(startProcess([...common, '-s'])),
      outcome(startProcess([...common, '-c', '-C', String(pings), '--wait', '60'])),
    ]).finally(() => {
      over = true
    })
    let round = 0
    const comeAndGo = async (): Promise<void> => {
      while (!over) {
        const [ms, how] = [(++round * 37) % 61, round % 2 === 0 ? 'exit' : 'kill']
        const { code, stderr } = await outcome(startScript(comer, [device, String(ms), how]))
        expect([code, stderr]).toEqual([how === 'exit' ? 0 : null, ''])
      }
    }
    const [[server, client]] = await Promise.all([ends, comeAndGo(), comeAndGo(), comeAndGo()])
    for (const { code, stdout, stderr } of [server, client]) {
      expect([code, stderr]).toEqual([0, ''])
      const result = JSON.parse(stdout) as RpingResult
      expect(result.connections).toMatchObject([{ pings }])
      expect(result.counters.stale_objects_reaped).toBeGreaterThan(0)
    }
    expect(round).toBeGreaterThan(10)
  })
})
