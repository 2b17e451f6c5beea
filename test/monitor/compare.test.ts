import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Budget, ExactCounts, ExactValues, ExactWindow } from '../../src/monitor/exact.ts'
import { boundsHold, Comparer, type Comparison, type Key, type Measure, query } from '../../src/monitor/index.ts'
import { Together } from '../../src/tools/monitor/together.ts'
import { holds as alwaysHolds } from '../property.ts'
import { Traffic } from './traffic.ts'

const budget = (): Budget => new Budget(2 ** 24)

describe('exact counting', () => {
  it('counts as a Map does, whatever the keys are', () => {
    const key = fc.tuple(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31)))
    alwaysHolds(
      fc.property(fc.array(fc.tuple(key, fc.nat(1000)), { maxLength: 400 }), (updates) => {
        const [table, map] = [new ExactCounts(2, 1, budget()), new Map<string, number>()]
        for (const [[a, b], amount] of updates) {
          table.add(table.slotOf(Int32Array.of(a, b)), 0, amount)
          map.set(`${a} ${b}`, (map.get(`${a} ${b}`) ?? 0) + amount)
        }
        const words = new Int32Array(2)
        const found = Array.from({ length: table.size }, (_, slot) => {
          table.keyAt(slot, words)
          return [words.join(' '), table.sumAt(slot, 0)]
        })
        expect(new Map(found as [string, number][])).toEqual(map)
      }),
    )
  })

  it('keeps keys when it grows, takes the memory it says, and gives it back', () => {
    const memory = budget()
    const [table, values] = [new ExactCounts(1, 1, memory), new ExactValues(memory)]
    const least = memory.bytes
    for (let i = 0; i < 10_000; i++) {
      table.add(table.slotOf(Int32Array.of(Math.imul(i, 0x9e3779b1))), 0, i)
      values.add(10_000 - i)
    }
    expect(table.size).toBe(10_000)
    const right = Array.from(
      { length: 10_000 },
      (_, i) => table.sumAt(table.slotOf(Int32Array.of(Math.imul(i, 0x9e3779b1))), 0) === i,
    )
    expect(right).not.toContain(false)
    expect([values.sorted()[0], values.sorted().at(-1)]).toEqual([1, 10_000])
    expect(memory.bytes).toBe(16_384 * (8 + 4 + 8) + 8 * 16_384)
    table.clear()
    values.clear()
    expect([memory.bytes, table.size, values.count]).toEqual([least, 0, 0])
  })

  it('ends with a clear error when its memory is full', () => {
    const table = new ExactCounts(12, 2, new Budget(2 ** 20))
    expect(() => {
      for (let i = 0; i < 20_000; i++) table.slotOf(Int32Array.from({ length: 12 }, () => i))
    }).toThrow('exact counting needs more than the 1 MiB that it may take (ERR_MONITOR_MEMORY)')
  })
})

/** So many flows of 1 to 16 packets from one host, each of a QP of its own, in one window. */
function manyFlows(flows: number, memoryBytes: number): { traffic: Traffic; exact: ExactWindow } {
  const exact = new ExactWindow(budget())
  const traffic = new Traffic({ memoryBytes, witness: exact })
  for (let i = 0; i < flows; i++)
    for (let n = 0; n < 1 + ((i * 7) % 16); n++) traffic.send(n, { destQp: 1000 + i, payload: 64 }, 10)
  return { traffic, exact }
}

function compared(traffic: Traffic, exact: ExactWindow, keys: Key[], measure: Measure = 'bytes'): Comparison {
  const comparer = new Comparer({ keys, measure, top: 10, threshold: 0.001, sketchBytes: 1 })
  comparer.add(traffic.end(), exact)
  return comparer.result()
}

describe('monitor compare', () => {
  it('finds no error where the sketches have room for all keys', () => {
    const exact = new ExactWindow(budget())
    const traffic = new Traffic({ witness: exact })
    for (let i = 0; i < 20; i++) {
      traffic.send(i, { payload: 100 * i })
      traffic.ack(i)
    }
    traffic.read(20, 64)
    traffic.response(20, 64)
    traffic.send(25)
    for (const measure of ['bytes', 'packets', 'messages', 'missing'] as const) {
      const again = new Comparer({ keys: ['qp', 'connection'], measure, top: 3, threshold: 0.1, sketchBytes: 1 })
      if (measure === 'bytes') traffic.end()
      again.add(traffic.windows[0]!, exact)
      const { keys, holds, flows, hosts, latency } = again.result()
      expect(holds).toBe(true)
      for (const key of keys) {
        expect(key).toMatchObject({
          absoluteError: 0,
          relativeError: 0,
          heavy: { f1: 1 },
          entropy: { relativeError: 0 },
        })
        expect(key.bounds.held).toBe(key.bounds.stated)
        expect(key.top.right).toBe(key.top.keys)
        expect(key.keys).toBe(measure === 'missing' || key.key === 'connection' || measure === 'messages' ? 1 : 2)
      }
      expect([flows.exact, hosts.exact]).toEqual([2, 2])
      expect(latency.ack[0]).toMatchObject({ windows: 1, bounds: { held: 1, confidence: 1 } })
      expect(latency.ack[0]!.largestError).toBeLessThanOrEqual(0.0101)
      expect(latency.read[4]).toMatchObject({ quantile: 1, windows: 1 })
    }
  })

  it('has the errors that a program finds which counts by itself', () => {
    const flows = 500
    const { traffic, exact } = manyFlows(flows, 2 ** 20)
    const { keys, holds } = compared(traffic, exact, ['qp'], 'packets')
    const rows = query(traffic.windows[0]!, { by: 'qp', of: 'packets', top: 1e9 }).rows
    const estimates = new Map(rows.map(({ fields, value }) => [fields.destinationQp!, value]))
    const truth = Array.from({ length: flows }, (_, i) => 1 + ((i * 7) % 16))
    const errors = truth.map((count, i) => Math.abs((estimates.get(1000 + i) ?? 0) - count))
    const heavy = 0.001 * truth.reduce((a, b) => a + b)
    const isRight = ({ fields, value }: (typeof rows)[number]): boolean =>
      value >= heavy && truth[fields.destinationQp! - 1000]! >= heavy
    expect(keys[0]!.found).toBeLessThan(flows / 2)
    expect(keys[0]).toMatchObject({ keys: flows, found: rows.length })
    expect(keys[0]!.absoluteError).toBeCloseTo(errors.reduce((a, b) => a + b) / flows, 9)
    expect(keys[0]!.relativeError).toBeCloseTo(errors.reduce((sum, error, i) => sum + error / truth[i]!, 0) / flows, 9)
    expect(keys[0]!.heavy).toMatchObject({
      keys: truth.filter((count) => count >= heavy).length,
      found: rows.filter(({ value }) => value >= heavy).length,
      right: rows.filter(isRight).length,
    })
    expect(keys[0]!.bounds.held).toBeGreaterThanOrEqual(0.95 * flows)
    expect(holds).toBe(true)
  })

  it('says when bounds do not hold', () => {
    const { traffic, exact } = manyFlows(50, 2 ** 23)
    traffic.end()
    // Packets that only the exact side has seen.
    const other = manyFlows(50, 2 ** 23)
    other.traffic.end()
    const words = new Int32Array(12)
    for (let slot = 0; slot < 10; slot++) {
      other.exact.packets.keyAt(slot, words)
      exact.packets.add(exact.packets.slotOf(words), 0, 1e6)
    }
    const comparer = new Comparer({ keys: ['qp'], measure: 'bytes', top: 10, threshold: 0.001, sketchBytes: 1 })
    comparer.add(traffic.windows[0]!, exact)
    const { holds, keys } = comparer.result()
    // Few keys have buckets to themselves: the monitor is sure of its answers.
    expect([holds, keys[0]!.bounds]).toEqual([false, { stated: 50, held: 40, confidence: 1 }])
  })
})

it('counts a single capture once', () => {
  const memory = budget()
  const comparer = new Comparer({ keys: [], measure: 'bytes', top: 10, threshold: 0.001, sketchBytes: 1 })
  const { witness, add } = new Together(comparer, memory).join('a')
  const traffic = new Traffic({ witness })
  const least = memory.bytes
  for (let i = 0; i < 500; i++) traffic.send(0, { destQp: 1000 + i }, 10)
  const window = traffic.end()
  const { peak } = memory
  add(window)
  expect([memory.peak, memory.bytes]).toEqual([peak, least])
  expect(comparer.result()).toMatchObject({ windows: 1, packets: 500, flows: { exact: 500 } })
})

it('takes for a broken bound only what chance does not explain', () => {
  const fewest = (stated: number, confidence: number): number => {
    let held = stated
    while (boundsHold({ stated, held: held - 1, confidence })) held--
    return stated - held
  }
  // How many of so many may fail: quantiles of the binomial distribution at 0.999.
  expect([1, 2, 8, 30, 1000, 100_000].map((stated) => fewest(stated, 0.99))).toEqual([1, 1, 2, 3, 21, 1099])
  expect([20, 1000].map((stated) => fewest(stated, 0.95))).toEqual([5, 73])
  expect([fewest(10, 1), fewest(0, 0.99)]).toEqual([0, 0])
})
