/**
 * When the packets of a client really leave, in virtual time, against the arrival process that was asked for: not what the schedule
 * says, but the time stamps of a capture.
 */
import { expect, it } from 'vitest'
import '../../../src/index.ts'
import type { CaptureWriter } from '../../../src/capture/index.ts'
import { ksLimit } from '../../../src/stats/index.ts'
import { gapCdf } from '../../../src/traffic/arrival-cdf.ts'
import { captureTraffic } from '../../../src/traffic/capture/index.ts'
import { readTraffic } from '../../../src/traffic/load/index.ts'
import { ksDistance } from '../../traffic/statistics.ts'

const rcSendOnly = 0x04
const count = 1000
const perSecond = 20_000

/** The gaps between the requests of a configuration, each one packet of the client, nanoseconds. */
function gapsOf(arrival: string): { gaps: number[]; below: (ns: number) => number } {
  const times: number[] = []
  const writer: CaptureWriter = {
    // Behind Ethernet, IPv4 and UDP.
    packet(bytes, offset, _length, seconds, ns) {
      if (bytes[offset + 42] === rcSendOnly) times.push(seconds * 1e9 + ns)
    },
    flush: () => undefined,
    close: () => undefined,
  }
  const yaml = `servers: [a, b]\nflow: push\nsize: 64\nqps: 4\nbandwidth: 100Gbps\nrequests: ${perSecond}\ncount: ${count}\nseed: 5\narrival: ${arrival}\n`
  const config = readTraffic(yaml, 'departures.yaml')
  const result = captureTraffic({ config, writer, memoryOf: 'shm0', roceV1: false, stopped: () => false })
  expect(result).toMatchObject({ done: count, lost: 0, failed: 0 })
  expect(times).toHaveLength(count)
  const sorted = times.toSorted((a, b) => a - b)
  const { arrival: asked } = config.phases[0]!
  return { gaps: sorted.slice(1).map((at, i) => at - sorted[i]!), below: gapCdf(asked, perSecond)! }
}

it.each(['poisson', 'uniform', '{ type: lognormal, sigma: 1.2 }', '{ type: onoff, on: 2ms, off: 3ms }'])(
  '%s: the gaps between packets have that distribution',
  (arrival) => {
    const { gaps, below } = gapsOf(arrival)
    expect(ksDistance(gaps, below)).toBeLessThan(ksLimit(gaps.length))
    // It tells others apart: the same mean with another process is farther away.
    const other = gapCdf({ type: arrival === 'uniform' ? 'poisson' : 'uniform' }, perSecond)!
    expect(ksDistance(gaps, other)).toBeGreaterThan(ksLimit(gaps.length))
  },
)

it('fixed: each gap is the same, to the nanoseconds that a packet takes', () => {
  const { gaps } = gapsOf('fixed')
  for (const gap of gaps) expect(Math.abs(gap - 1e9 / perSecond)).toBeLessThan(100)
})
