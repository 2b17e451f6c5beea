/** Windows of a pipe while it has nothing to give: the clock of this host is set by the test, and nothing is waited for. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CapturedPacket, CaptureParser, type CaptureSource, LinkType } from '../../../src/capture/index.ts'
import { watchCapture } from '../../../src/monitor/host/index.ts'
import { monitorConfig, Observer } from '../../../src/monitor/index.ts'
import { WireOpcode } from '../../../src/wire/index.ts'
import { roceFrame } from '../../trace/packets.ts'

const startMs = 1_700_000_000_000
const burstMs = 300
const idleMs = 50

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: startMs }))
afterEach(() => void vi.useRealTimers())

/** A packet every 300 ms until `trafficMs`, with a time that is `behindMs` before the clock; then nothing until `endMs`. */
function bursts(behindMs: (ms: number) => number, trafficMs: number, endMs = trafficMs): CaptureSource {
  const bytes = roceFrame({ opcode: WireOpcode.RcSendOnly, destQp: 0xb, payload: 8 })
  return {
    repeatable: false,
    async read(onPacket, { onIdle } = {}) {
      const parser = new CaptureParser()
      for (let ms = 0; ms < endMs; ms += idleMs) {
        vi.setSystemTime(startMs + ms)
        if (ms < trafficMs && ms % burstMs === 0) {
          const atMs = startMs + ms - behindMs(ms)
          const seconds = Math.floor(atMs / 1000)
          const nanoseconds = (atMs - 1000 * seconds) * 1e6
          const size = { length: bytes.length, originalLength: bytes.length }
          const packet = { linkType: LinkType.Ethernet, hasTime: true, seconds, nanoseconds, ...size }
          onPacket(Object.assign(new CapturedPacket(), { bytes, view: new DataView(bytes.buffer), ...packet }), parser)
        }
        onIdle?.()
      }
      return parser
    },
  }
}

/** Windows of a second: how many packets each has, how often the clock went back, and how many there were before the end. */
async function watch(source: CaptureSource): Promise<{ packets: number[]; backs: number; early: number }> {
  const [packets, indexes]: [number[], number[]] = [[], []]
  let [backs, early] = [0, 0]
  class Counted extends Observer {
    override finish(): void {
      early = packets.length
      super.finish()
    }
  }
  const observer = new Counted({
    ...{ config: monitorConfig({ seed: 1, windowSeconds: 1, memoryBytes: 2 ** 20 }), agent: 'a', run: 'r' },
    onWindow: (window) => {
      packets.push(window.count('packets'))
      indexes.push(window.index)
      backs += window.count('clockBack')
    },
  })
  await watchCapture(source, () => observer, { signal: new AbortController().signal, trace: {} })
  if (backs === 0) expect(indexes).toEqual([...indexes].sort((a, b) => a - b))
  return { packets, backs, early }
}

describe('a pipe from a host', () => {
  it('whose clock is behind has whole windows, one after the other, which end with the clock', async () => {
    for (const behindMs of [0, 900, 2500, 4000, 4900]) {
      const { packets, backs, early } = await watch(bursts(() => behindMs, 6000, 9000))
      expect(packets.reduce((sum, count) => sum + count)).toBe(20)
      expect([behindMs, backs]).toEqual([behindMs, 0])
      expect(packets.filter((count) => count > 0).length).toBeLessThanOrEqual(7)
      // Those with packets are over 1.5 s after the last one.
      expect(packets.slice(0, early).reduce((sum, count) => sum + count)).toBe(20)
    }
  })

  it('whose clock is ahead does not lose windows', async () => {
    const { packets, backs } = await watch(bursts(() => -4000, 6000, 9000))
    expect([backs, packets.reduce((sum, count) => sum + count)]).toEqual([0, 20])
    expect(packets.length).toBeLessThanOrEqual(7)
  })

  it('whose clock is set back goes back once', async () => {
    for (const behindMs of [4000, 3_600_000]) {
      const { packets, backs } = await watch(bursts((ms) => (ms < 3000 ? 0 : behindMs), 9000))
      expect([backs, packets.reduce((sum, count) => sum + count)]).toEqual([1, 30])
      expect(packets.length).toBeLessThanOrEqual(11)
    }
  })
})
