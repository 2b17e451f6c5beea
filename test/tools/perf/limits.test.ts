import { describe, expect, it } from 'vitest'
import { brokenLimits, parseLatencyLimits } from '../../../src/tools/perf/limits.ts'
import type { EndReport } from '../../../src/tools/perf/protocol.ts'
import type { Measured } from '../../../src/tools/perf/session.ts'
import { disagreement, type PerfSettings } from '../../../src/tools/perf/settings.ts'

const flow = (messagesPerSecond: number) => ({
  messages: 1000,
  seconds: 1000 / messagesPerSecond,
  messagesPerSecond,
  peakPerSecond: messagesPerSecond,
})
const none: EndReport = { sent: null, received: null, latency: null }
const both: Measured = { size: 1000, client: { ...none, sent: flow(3000) }, server: { ...none, sent: flow(2000) } }
const latency: Measured = {
  size: 2,
  client: {
    ...none,
    latency: {
      ...{ count: 10, lost: 3, min: 1000, max: 90_000, mean: 5000, stdev: 200 },
      ...{ percentiles: { p50: 4000, 'p99.9': 90_000 }, exact: true, what: 'completion', from: 'post', perSecond: 100 },
    },
  },
  server: none,
}

describe('limits', () => {
  it('hold for both directions together', () => {
    expect(brokenLimits({ bandwidth: 5e6, messageRate: 5000, latency: {} }, both)).toEqual([])
    expect(brokenLimits({ bandwidth: 5e6 + 1, latency: {} }, both)).toEqual([
      expect.stringMatching(/^bandwidth with 1000 bytes is 4\.77 MiB\/sec .*below the limit/),
    ])
  })

  it('of the message rate fail alone, too', () => {
    expect(brokenLimits({ messageRate: 5001, latency: {} }, both)).toHaveLength(1)
  })

  it('of latencies fail above, not at', () => {
    expect(brokenLimits({ latency: parseLatencyLimits(['p50=4,max=90', 'avg=5']) }, latency)).toEqual([])
    expect(brokenLimits({ latency: parseLatencyLimits(['p50=3.99,p99.9=10,min=0.5']) }, latency)).toHaveLength(3)
  })

  it('of losses and of nothing at all fail', () => {
    expect(brokenLimits({ lost: 2, latency: {} }, latency)).toHaveLength(1)
    const empty = { ...latency, client: { ...none, latency: { ...latency.client.latency!, count: 0 } } }
    expect(brokenLimits({ latency: { p50: 1e9 } }, empty)).toHaveLength(1)
  })

  it.each(['p98=1', 'p99', 'p99=', 'p99=-1', 'p99=1=2', 'p99=x', ''])('cannot be %j', (text) => {
    expect(() => parseLatencyLimits([text])).toThrow(/--limit/)
  })
})

describe('the server', () => {
  it('agrees to what it was not told, and says where it was told something else', () => {
    const client = { sizes: [64], iters: 5, qps: 2 } as PerfSettings
    expect(disagreement({}, client)).toBeNull()
    expect(disagreement({ sizes: [64], qps: 2 }, client)).toBeNull()
    expect(disagreement({ sizes: [8] }, client)).toMatch(/^-s is 8 at the server and 64 at the client/)
  })
})
