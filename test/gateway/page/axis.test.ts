/** Axes of the live page: about four round numbers around whatever the values are. */
import { expect, it } from 'vitest'
import { axisOf } from '../../../src/gateway/page/plot.ts'

const textsOf = (low: number, high: number) => axisOf(low, high).ticks.map(({ text }) => text)

it.each([
  ['volts', -230_000, 229_000, ['-400,000', '-200,000', '0', '200,000', '400,000']],
  ['a constant', 314, 314, ['280', '300', '320', '340', '360']],
  ['zero', 0, 0, ['-0.10', '-0.05', '0.00', '0.05', '0.10']],
  ['small', 0.0012, 0.0019, ['0.0012', '0.0014', '0.0016', '0.0018', '0.0020']],
  ['large', 0, 9.1e12, ['0e+0', '5e+12', '1e+13']],
  ['nothing', Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, ['0.0', '0.5', '1.0']],
])('%s', (_, low, high, texts) => expect(textsOf(low, high)).toEqual(texts))

it('holds all values, whatever they are', () => {
  for (const [low, high] of [
    [-1e-9, 3e-9],
    [1e300, 1.5e300],
    [99.999, 100.001],
    [-5, 1e6],
  ] as const) {
    const axis = axisOf(low, high)
    expect([axis.low <= low, axis.high >= high, axis.ticks.length >= 2, axis.ticks.length <= 8]).toEqual([
      true,
      true,
      true,
      true,
    ])
  }
})
