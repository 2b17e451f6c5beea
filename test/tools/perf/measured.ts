/** A test of the family perf between two processes, and what its document has to look like. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { isLatency, type PerfTest, perfTests } from '../../../src/tools/perf/settings.ts'
import { runEnds } from '../../cli/ends.ts'

/** A short test, and its document. */
export const few = ['-n', '100', '--warmup', '20', '--json']
const flow = z.strictObject({
  messages: z.number(),
  seconds: z.number().positive(),
  messagesPerSecond: z.number().positive(),
  peakPerSecond: z.number().positive(),
})
const latency = z.strictObject({
  count: z.number(),
  lost: z.number(),
  min: z.number().positive(),
  max: z.number().positive(),
  mean: z.number().positive(),
  stdev: z.number().nonnegative(),
  percentiles: z.record(z.string(), z.number().positive()),
  exact: z.boolean(),
  what: z.string(),
  from: z.string(),
  perSecond: z.number().positive(),
})
const report = z.strictObject({ sent: flow.nullable(), received: flow.nullable(), latency: latency.nullable() })
export const document = z.strictObject({
  tool: z.literal('perf'),
  test: z.enum(perfTests),
  role: z.enum(['client', 'server']),
  settings: z.record(z.string(), z.unknown()),
  mtu: z.literal(4096),
  local: z.strictObject({ device: z.string(), lid: z.number(), gid: z.string(), gidIndex: z.number() }),
  peer: z.string(),
  units: z.record(z.string(), z.string()),
  runs: z.array(z.strictObject({ size: z.number(), client: report, server: report })),
  brokenLimits: z.array(z.string()),
})

export interface Documents {
  client: z.infer<typeof document>
  server: z.infer<typeof document>
}

/** Both ends of a test, with their documents. */
export async function measured(test: PerfTest, ...args: string[]): Promise<Documents> {
  const { client, server } = await runEnds(['perf', test], ['--json'], [...few, ...args])
  expect(client.stderr + server.stderr).toBe('')
  expect([client.code, server.code]).toEqual([0, 0])
  return { client: document.parse(JSON.parse(client.stdout)), server: document.parse(JSON.parse(server.stdout)) }
}

/** What each end prints of the other. */
export function bothEndsKnow(tests: readonly PerfTest[]): void {
  it.each(tests)('%s: both ends know the results of both', async (test) => {
    const { client, server } = await measured(test)
    expect(client.runs).toEqual(server.runs)
    expect([client.role, server.role]).toEqual(['client', 'server'])
    const [run] = client.runs
    if (isLatency(test)) {
      const { count, min, max, mean, percentiles, exact } = run!.client.latency!
      expect([count, exact]).toEqual([100, true])
      const rising = [min, ...Object.values(percentiles), max]
      expect(rising).toEqual([...rising].sort((a, b) => a - b))
      expect(mean).toBeGreaterThanOrEqual(min)
      expect(mean).toBeLessThanOrEqual(max)
    } else {
      const { sent } = run!.client
      expect(sent!.messages).toBe(100)
      expect(sent!.messagesPerSecond).toBeCloseTo(100 / sent!.seconds, 3)
      expect(sent!.peakPerSecond).toBeGreaterThanOrEqual(sent!.messagesPerSecond)
      expect(run!.server.received?.messages).toBe(test === 'send_bw' ? 100 : undefined)
    }
  })
}
