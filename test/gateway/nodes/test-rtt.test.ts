/** The node-type test_rtt: its settings, cases that a loop of a whole gateway brings back, its result files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Settings, SettingsReader } from '../../../src/gateway/index.ts'
import { testRttSettings } from '../../../src/gateway/nodes/test-rtt/settings.ts'
import { countsOf, ran } from '../runtime/gateway.ts'
import { freeUdpPort } from './ports.ts'
import { wrongWith } from './running.ts'

const one = { rates: 10, values: 1 }

it.each([
  [{}, 'node: cases: is missing'],
  [{ cases: [{ values: 1 }] }, 'node.cases[0]: rates: is missing'],
  [{ cases: [{ rates: 1 }] }, 'node.cases[0]: values: is missing'],
  [{ cases: [{ rates: [1, 0], values: 1 }] }, 'node.cases[0]: rates: [1,0] is not valid'],
  [{ cases: [{ rates: 1, values: 1.5 }] }, 'node.cases[0]: values: 1.5 is not valid. Expected whole numbers up to 512'],
  [{ cases: [one], mode: 'both' }, 'node: mode: "both" is not valid'],
  [{ cases: [one], prefix: 'a%Q' }, "prefix: '%Q' is not known"],
  [{ cases: [{ ...one, limit: 1 }] }, "node.cases[0] has no setting 'limit'"],
  [{ cases: [{ ...one, duration: 0.01 }] }, '0 samples at 10 Hz: a case has 1 to 1000000000'],
] as [Settings, string][])('settings: %j', async (settings, message) => {
  expect(await wrongWith({ type: 'test_rtt', ...settings })).toContain(message)
})

it.each([
  [{ cases: [{ rates: [10, 20], values: [1, 2] }] }, [1000, 1000, 1000, 1000]],
  [{ cases: [{ ...one, count: 7 }], duration: 100 }, [7]],
  [{ cases: [{ ...one, duration: 2 }], count: 100 }, [20]],
  [{ cases: [{ rates: [10, 100], values: 1, count: 50, duration: 2 }] }, [50, 200]],
  [{ cases: [{ rates: [10, 100], values: 1, count: 50, duration: 2, mode: 'min' }] }, [20, 50]],
  [{ cases: [{}], rates: 10, values: [1], count: 3, duration: 1, mode: 'stop_after_count' }, [3]],
] as [Settings, number[]][])('samples of the cases: %j', (settings, counts) => {
  const { cases } = testRttSettings(new SettingsReader('node', settings), 'node')
  expect(cases.map(({ count }) => count)).toEqual(counts)
})

describe('a gateway', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rtt-'))
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const results = (): [string, string[], Record<string, unknown>][] =>
    readdirSync(folder)
      .sort()
      .map((name) => {
        const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')
        const facts = JSON.parse(lines.at(-1)!.replace('# ', '')) as Record<string, unknown>
        return [name, lines.filter((line) => !line.startsWith('#')), facts]
      })

  it('measures all cases one after the other, and stops', async () => {
    const cases = [{ rates: [2000, 1000], values: [2, 3], count: 40, warmup: 0.005 }]
    const rtt = { type: 'test_rtt', output: join(folder), prefix: 'test', cooldown: 0.02, shutdown: true, cases }
    const address = `127.0.0.1:${await freeUdpPort()}`
    const udp = { type: 'socket', in: { address, signals: { count: 3, type: 'float' } }, out: { address } }
    const done = await ran({
      nodes: { rtt, udp },
      paths: [
        { in: 'rtt', out: 'udp' },
        { in: 'udp', out: 'rtt' },
      ],
    })
    const found = results()
    expect(found.map(([name]) => name)).toEqual([
      'test_values2_rate1000.log',
      'test_values2_rate2000.log',
      'test_values3_rate1000.log',
      'test_values3_rate2000.log',
    ])
    for (const [, lines, facts] of found) {
      const warmup = 0.005 * (facts.rate as number)
      expect(facts).toMatchObject({ count: 40, sent: 40, warmup: { count: warmup, sent: warmup } })
      expect(lines).toHaveLength(facts.received as number)
      // The round trip is the offset; the values are not written.
      for (const line of lines) expect(line).toMatch(/^\d+\.\d{9}\+\d\.\d{6}e-\d\d\(\d+\)$/)
      const sequences = lines.map((line) => Number(/\((\d+)\)/.exec(line)![1]))
      expect(Math.min(...sequences)).toBeGreaterThanOrEqual(warmup)
      const { min, median, max } = facts.rtt_ns as Record<string, number>
      expect(min! > 0 && min! <= median! && median! <= max!).toBe(true)
    }
    expect(countsOf(done, 'rtt')).toMatchObject({ cases: 4 })
    expect(done.lines.filter((line) => line.includes('came back'))).toHaveLength(4)
  })

  it('says when samples do not come back', async () => {
    const rtt = {
      type: 'test_rtt',
      output: folder,
      prefix: 'lost',
      shutdown: true,
      cases: [{ rates: 1000, values: 1, count: 20 }],
    }
    const done = await ran({
      nodes: { rtt, nowhere: { type: 'loopback' }, never: { type: 'loopback' } },
      paths: [
        { in: 'rtt', out: 'nowhere' },
        { in: 'never', out: 'rtt' },
      ],
    })
    expect(results()[0]![2]).toMatchObject({ sent: 20, received: 0 })
    expect(done.lines.join('\n')).toContain('20 samples: 0 came back, 20 did not')
  })
})
