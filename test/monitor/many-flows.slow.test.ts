/** A million flows, a packet each: a monitor takes the memory that was configured, and says what it forgot. */
import { describe, expect, it } from 'vitest'
import { distinctFrames } from '../../bench/monitor-capture.ts'
import { CapturedPacket, LinkType } from '../../src/capture/index.ts'
import { monitorConfig, Observer, type Window } from '../../src/monitor/index.ts'
import { heldBytes } from '../heap.ts'

const perSecond = 200_000

describe.each([true, false])('followed: %s', (follows) => {
  it('a million flows take the memory that was configured', { timeout: 120_000 }, () => {
    const config = monitorConfig({ seed: 1 })
    const memoryBytes = 2 ** 25
    let packets = 0
    let flows = 0
    let forgotten = 0
    let wrong = 0
    const onWindow = (window: Window): void => {
      packets += window.count('roce')
      forgotten += window.count('forgotten')
      const { lower, upper } = window.sketches.flows.cardinality()
      const seen = window.count('roce')
      if (seen < lower || seen > upper) wrong++
      flows += seen
      expect(window.count('fastPath')).toBe(follows ? 0 : seen)
    }
    const frameOf = distinctFrames()
    const packet = new CapturedPacket()
    packet.linkType = LinkType.Ethernet
    packet.hasTime = true
    const take = (observer: Observer, from: number, to: number): void => {
      for (let n = from; n < to; n++) {
        const bytes = frameOf(n)
        packet.bytes = bytes
        packet.length = packet.originalLength = bytes.length
        packet.seconds = 1_700_000_000 + Math.floor(n / perSecond)
        packet.nanoseconds = (n % perSecond) * 5000
        if (follows) observer.packet(packet)
        else observer.count(packet)
      }
    }
    const before = heldBytes()
    const observer = new Observer({ config, agent: 'test', run: 'run', onWindow })
    const most = 1_000_000
    const growth: number[] = []
    for (let n = 0; n < most; n += perSecond) {
      take(observer, n, n + perSecond)
      growth.push(heldBytes() - before)
    }
    observer.finish()
    expect([packets, flows]).toEqual([most, most])
    // All but those that are still known; none was known where packets were only counted.
    expect(forgotten).toBeGreaterThanOrEqual(follows ? most - 4096 : 0)
    expect(forgotten).toBeLessThan(follows ? most : 1)
    // Forty bytes that each flow left behind would be more. Buffers of windows that have ended may not be free yet.
    expect(Math.max(...growth)).toBeLessThan(memoryBytes)
    // Bounds of three deviations, of five windows.
    expect(wrong).toBeLessThanOrEqual(1)
  })
})
