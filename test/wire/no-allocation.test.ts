/** What the data path calls for each packet allocates nothing, up to the length at which zlib computes the ICRC. */
import { describe, expect, it } from 'vitest'
import { checkLengths, checkPacket, IcrcFlow, icrcMatches, Layers, locateEthernet } from '../../src/wire/index.ts'
import { leastGrowth } from '../heap.ts'
import { packetsOf, placesOf } from './captures.ts'

const calls = 200_000
/** Less than a sixteenth of the smallest object for each call. */
const allowedBytes = calls

describe('allocation', () => {
  const { frame } = packetsOf('rping.pcap').find(({ frame: { length } }) => length > 90 && length < 250)!
  const { ip, udp, bth, icrc } = placesOf(frame)
  const flow = new IcrcFlow(
    frame.slice(ip + 12, ip + 16),
    frame.slice(ip + 16, ip + 20),
    frame[udp]! * 256 + frame[udp + 1]!,
  )
  const copy = frame.slice()
  const layers = new Layers()

  it('would be seen: one object a call', () => {
    const kept: { i: number }[] = new Array(calls)
    const bytes = leastGrowth(() => {
      for (let i = 0; i < calls; i++) kept[i] = { i }
    }, 8 * calls)
    expect(bytes).toBeGreaterThan(8 * calls)
  })

  it.each<[string, () => number]>([
    ['IcrcFlow.write', () => flow.write(copy, bth, icrc, 5) ?? 1],
    ['IcrcFlow.check with an identification to find', () => (flow.check(frame, bth, icrc) > 0 ? 1 : 0)],
    ['checkPacket and checkLengths', () => ((checkPacket(frame, bth, icrc) ?? checkLengths(frame, bth, icrc)) ? 0 : 1)],
    [
      'locateEthernet and icrcMatches',
      () => (locateEthernet(frame, 0, frame.length, layers) === undefined && icrcMatches(frame, layers) ? 1 : 0),
    ],
  ])('%s', (_, call) => {
    let wrong = 0
    const bytes = leastGrowth(() => {
      for (let i = 0; i < calls; i++) if (call() !== 1) wrong++
    }, allowedBytes)
    expect(wrong).toBe(0)
    expect(call()).toBe(1)
    expect(bytes).toBeLessThan(allowedBytes)
  })
})
