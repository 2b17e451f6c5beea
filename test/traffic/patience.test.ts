/** When a client gives up what does not come. */
import { describe, expect, it } from 'vitest'
import type { Channel } from '../../src/traffic/run/channel.ts'
import { FlowRing } from '../../src/traffic/run/flow-ring.ts'
import type { Link } from '../../src/traffic/run/link.ts'
import { Patience } from '../../src/traffic/run/patience.ts'

const [send, bandwidthBps] = [0, 1e9]

/** A channel with flows that were asked for at 0. */
function asked(flows: readonly { size: number; rate?: number }[], live: boolean) {
  const awaited = new FlowRing()
  for (const { size, rate = 0 } of flows) awaited.push(size, send, rate, 0, 0)
  awaited.next = awaited.tail
  const messageNs = (size: number, rate: number): number => (rate > 0 ? (Math.min(size, 4096) * 8e9) / rate : 0)
  const channel = { index: 0, awaited, flows: new FlowRing(), begun: 0, marks: null, messageNs } as unknown as Channel
  const patience = new Patience([{ failure: '', channels: [channel] } as unknown as Link], 1, bandwidthBps, live)
  /** When the flow at the head is lost, by looking every 20 ms from then on. */
  const lostAt = (fromNs: number): number => {
    for (let now = fromNs; ; now += 20e6) {
      patience.look(now)
      if (patience.isOver(channel, now)) return now
    }
  }
  return { awaited, patience, lostAt }
}

describe('a flow that does not come is lost', () => {
  it('a second after the last sign of its queue pair', () => {
    const { patience, lostAt } = asked([{ size: 0 }], false)
    patience.heard(0, 5e9)
    expect(lostAt(0)).toBe(6e9)
  })

  it('and those behind it at once, but those with a rate after what the server may need for it', () => {
    const fast = asked([{ size: 0 }, { size: 0 }], false)
    expect(fast.lostAt(0)).toBe(1e9)
    fast.awaited.head++
    expect(fast.lostAt(1e9)).toBe(1e9)
    // Eight seconds each, of which a message takes four.
    const slow = asked(
      [
        { size: 8192, rate: 8192 },
        { size: 8192, rate: 8192 },
      ],
      false,
    )
    const first = slow.lostAt(0)
    expect(first).toBeGreaterThanOrEqual(5e9)
    expect(first).toBeLessThan(5.1e9)
    slow.awaited.head++
    const second = slow.lostAt(first)
    expect(second).toBeGreaterThanOrEqual(13e9)
    expect(second).toBeLessThan(13.1e9)
  })

  it('later if servers have much to send at a quarter of the bandwidth, but not without end', () => {
    expect(asked([{ size: 62.5e6 }], false).lostAt(0)).toBe(3e9)
    expect(asked([{ size: 1e12 }], false).lostAt(0)).toBe(10e9)
  })

  it('not while the loop itself was away', () => {
    const { patience, lostAt } = asked([{ size: 0 }], true)
    patience.look(20e6)
    expect(lostAt(5e9)).toBe(6e9)
  })
})

it('the end of a run waits for what the oldest flows take at their rate, and for what is outstanding', () => {
  expect(asked([{ size: 0 }], false).patience.graceNs).toBe(3e9)
  const { patience } = asked([{ size: 1e6, rate: 4e6 }], false)
  expect(patience.graceNs).toBe(3e9 + 2e9 + 32e6)
})
