/** Keys, QP numbers, PSNs: random over all of their bits, so that a stranger who has seen some can tell no other. */
import { expect, it } from 'vitest'
import { Access, endpointOf, openDevice, QpType } from '../../../src/index.ts'

const samples = 256

/** Each bit is set in about half of them, and the distance to the next one is never the same. */
function expectRandom(what: string, numbers: readonly number[], bits: number): void {
  expect(new Set(numbers).size, what).toBe(samples)
  for (let bit = 0; bit < bits; bit++) {
    const set = numbers.filter((number) => (number >>> bit) & 1).length
    // Eight standard deviations: one run in 10^14 would fail by chance.
    expect(Math.abs(set - samples / 2), `bit ${bit} of ${what}`).toBeLessThan(64)
  }
  const steps = numbers.slice(1).map((number, i) => number - numbers[i]!)
  expect(new Set(steps).size, `steps of ${what}`).toBeGreaterThan(samples - 8)
}

it('keys of regions, QP numbers and first PSNs', () => {
  const context = openDevice('shm0')
  const pd = context.allocPd()
  const cq = context.createCq(4)
  const buffer = context.alloc(4096)
  const qps = Array.from({ length: samples }, () => pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq }))
  const mrs = Array.from({ length: samples }, () => pd.regMr(buffer, Access.LocalWrite))
  expectRandom(
    'rkeys',
    mrs.map(({ rkey }) => rkey),
    32,
  )
  expectRandom(
    'QP numbers',
    qps.map(({ qpNum }) => qpNum),
    24,
  )
  expectRandom(
    'PSNs',
    qps.map((qp) => endpointOf(qp).psn),
    24,
  )
  for (const object of [...mrs, ...qps, cq]) object.close()
  context.free(buffer)
  pd.close()
  context.close()
})
