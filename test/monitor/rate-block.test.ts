/** What goes to a queue pair or a host in a bin: the curve has it, within its bounds. */
import { describe, expect, it } from 'vitest'
import { curveOf, mergeWindow } from '../../src/monitor/index.ts'
import { keyWords, rateKey, rateKeyBytes, Word } from '../../src/monitor/key.ts'
import { leastQpBytes, RateBlock, RateKeys } from '../../src/monitor/rate-block.ts'
import { createSketch, type WaveSketch } from '../../src/sketch/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { deth } from '../trace/packets.ts'
import { B, Traffic } from './traffic.ts'

const windowNs = 1000
const make = () =>
  createSketch('wave', {
    bytes: 2_000_000,
    keyBytes: rateKeyBytes,
    seed: 1,
    startNs: 0,
    rows: 2,
    windows: 16,
    windowNs,
  })
const words = (qp: number, host = 1) => {
  const key = new Int32Array(keyWords)
  key[Word.destination] = host
  key[Word.destinationQp] = qp
  return key
}

function curve(sketch: WaveSketch, of: Int32Array, withQp: boolean) {
  const key = new Uint8Array(rateKeyBytes)
  rateKey(of, withQp, key)
  const { lower, upper } = sketch.curve(key)!
  return { lower, upper: upper.map((most) => (withQp ? most + leastQpBytes - 1 : most)) }
}

describe('a block of rates', () => {
  it('has all of a bin of a queue pair, however many others there are', () => {
    const [block, sketch] = [new RateBlock(), make()]
    const sends = [7, ...Array.from({ length: 4000 }, (_, i) => 1000 + i), 7]
    for (const [i, qp] of sends.entries()) block.add(words(qp, i === 0 ? 1 : qp), 600, 10, sketch)
    block.add(words(7), 600, 10, sketch)
    block.end(sketch)
    expect(curve(sketch, words(7), true).upper[0]).toBeGreaterThanOrEqual(1200)
    expect(curve(sketch, words(7), false).upper[0]).toBeGreaterThanOrEqual(1200)
    // Hosts have all of it: only queue pairs can be left out.
    expect(sketch.total).toBeGreaterThanOrEqual(600 * (sends.length + 1))
  })

  it('has all of two bins whose packets come in turn', () => {
    const [block, sketch] = [new RateBlock(), make()]
    for (let i = 0; i < 100; i++) {
      block.add(words(7), 1000, windowNs + 1, sketch)
      block.add(words(8), 1000, 1, sketch)
    }
    block.end(sketch)
    expect(curve(sketch, words(7), true).upper[1]).toBeGreaterThanOrEqual(100_000)
    expect(curve(sketch, words(8), true).upper[0]).toBeGreaterThanOrEqual(100_000)
  })

  it('leaves out what is less than a KiB in a bin, once, and nothing of hosts', () => {
    const [block, sketch, keys] = [new RateBlock(), make(), new RateKeys()]
    for (let bin = 0; bin < 4; bin++)
      for (let i = 0; i <= bin; i++) block.add(words(7), 500, bin * windowNs + i, sketch, keys)
    block.end(sketch)
    // Two of 500 are left out, three are not.
    expect(sketch.total).toBe(10 * 500 + 7 * 500)
    for (const [bin, bytes] of [500, 1000, 1500, 2000].entries())
      for (const withQp of [true, false]) {
        const { lower, upper } = curve(sketch, words(7), withQp)
        expect(upper[bin]).toBeGreaterThanOrEqual(bytes)
        expect(lower[bin]).toBeLessThanOrEqual(bytes)
      }
  })

  it('does not wrap around at 2^32', () => {
    const [block, sketch] = [new RateBlock(), make()]
    for (let i = 0; i < 3; i++) block.add(words(7), 2 ** 31, 10, sketch)
    block.end(sketch)
    expect(curve(sketch, words(7), true).lower[0]).toBeGreaterThan(6e9)
    // A window of the next second begins with its first bin again.
    const next = make()
    block.add(words(7), 3000, 10, next)
    block.end(next)
    expect(curve(next, words(7), false).upper[0]).toBe(3000)
  })
})

it('what each agent left out of a queue pair is in the bounds of all of them', () => {
  const windows = ['one', 'two'].map((run) => {
    const traffic = new Traffic({ run })
    traffic.send(0, { payload: 700 })
    return traffic.end()
  })
  mergeWindow(windows[0]!, windows[1]!)
  const { upper } = curveOf(windows[0]!, { destination: B, destinationQp: 0xb })!
  expect(Math.max(...upper)).toBeGreaterThanOrEqual(2 * 700)
})

it('a group is not the host: its bytes are there once', () => {
  const traffic = new Traffic()
  const spec = { opcode: WireOpcode.UdSendOnly, destQp: 0xffffff, payload: 2000, extension: deth(0x11, 0x22) }
  traffic.packet(spec)
  const window = traffic.end()
  const sent = window.totals().wireBytes
  for (const where of [{ destination: B }, { destination: B, destinationQp: 0xffffff }]) {
    const { lower } = curveOf(window, where)!
    expect(Math.max(...lower)).toBeLessThanOrEqual(sent)
    expect(Math.max(...lower)).toBeGreaterThan(0)
  }
})
