/** Generate, fit, generate again: what comes out is what went in, by the distance of the distributions. */
import { describe, expect, it } from 'vitest'
import { ksLimit, ksOfSamples } from '../../src/stats/index.ts'
import { fitTraffic, Schedule, type SeenMessage } from '../../src/traffic/index.ts'
import { fitText, readTraffic } from '../../src/traffic/load/index.ts'

function generate(text: string, seed: number, count = 4000): SeenMessage[] {
  const config = readTraffic(text, 'test.yaml', { seed, count })
  const schedule = new Schedule(config)
  const messages: SeenMessage[] = []
  while (schedule.next()) {
    const { timeNs, size: bytes, verb, type, server } = schedule
    messages.push({ timeNs, source: 'client', destination: config.servers[server]!.host, bytes, verb, type })
  }
  return messages
}

const gapsOf = (messages: readonly SeenMessage[]): number[] =>
  messages.slice(1).map(({ timeNs }, i) => timeNs - messages[i]!.timeNs)
const share = (messages: readonly SeenMessage[], of: (message: SeenMessage) => boolean): number =>
  messages.filter(of).length / messages.length

const base = 'servers: [{ host: a, weight: 3 }, { host: b }]\n'

describe('a round trip', () => {
  it.each([
    ['poisson', 'size: WebSearch\nrequests: 1000\nverbs: { send: 60, read: 40 }\ntypes: { RC: 90, UC: 10 }\n'],
    ['fixed', 'size: 4KiB\nrequests: 5000\narrival: fixed\nverbs: write\n'],
    ['uniform', 'size: { 64: 50, 4KiB: 50 }\nrequests: 5000\narrival: uniform\n'],
    ['lognormal', 'size: FbHdp\nrequests: 5000\narrival: { type: lognormal, sigma: 2 }\n'],
    ['onoff', 'size: 64\nrequests: 20k/s\narrival: { type: onoff, on: 5ms, off: 50ms }\n'],
  ])('%s', (arrival, text) => {
    const first = generate(base + text, 3)
    const fit = fitTraffic(first)!
    expect(fit).toMatchObject({ client: 'client', count: first.length, arrival: { arrival: { type: arrival } } })
    for (const { size } of fit.verbs) if (size !== null) expect(size.ks).toBeLessThan(size.limit)
    const again = generate(fitText(fit, { port: 18515 }), 4)
    const limit = ksLimit(first.length / 2)
    for (const verb of ['send', 'read', 'write'] as const) {
      const sizes = [first, again].map((list) => list.filter((one) => one.verb === verb).map(({ bytes }) => bytes))
      if (sizes[0]!.length > 0) expect(ksOfSamples(sizes[0]!, sizes[1]!)).toBeLessThan(2 * ksLimit(sizes[0]!.length))
    }
    // A source that is on and off is fitted by a threshold, which is coarser.
    if (arrival !== 'fixed')
      expect(ksOfSamples(gapsOf(first), gapsOf(again))).toBeLessThan(arrival === 'onoff' ? 0.1 : 2 * limit)
    expect(share(again, ({ destination }) => destination === 'a')).toBeCloseTo(0.75, 1)
    expect(share(again, ({ type }) => type === 'UC')).toBeCloseTo(
      share(first, ({ type }) => type === 'UC'),
      1,
    )
  })
})

it('at another scale, to other servers', () => {
  const fit = fitTraffic(generate(`${base}size: 64\nrequests: 1000\n`, 1))!
  const text = fitText(fit, { port: 18515, scale: 4, servers: ['10.0.0.5', '[fe80::1]:99', '10.0.0.7'] })
  const config = readTraffic(text, 'fit.yaml')
  expect(config.servers.map(({ host, port }) => `${host} ${port}`)).toEqual([
    '10.0.0.5 18515',
    'fe80::1 99',
    '10.0.0.7 18515',
  ])
  expect(config.phases[0]!.requestsPerSecond! / fit.requestsPerSecond).toBeCloseTo(4, 3)
})

it('few messages, or none', () => {
  const one = { timeNs: 5, source: 'x', destination: 'y', bytes: 8, verb: 'fetch_add', type: 'RC' } as const
  expect(fitTraffic([])).toBeUndefined()
  expect(fitTraffic([one], 'y')).toBeUndefined()
  const fit = fitTraffic([one])!
  expect(fit).toMatchObject({ count: 1, size: null, spanNs: 0 })
  expect(readTraffic(fitText(fit, { port: 1 }), 'one.yaml').servers).toHaveLength(1)
})
