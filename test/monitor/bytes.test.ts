import { describe, expect, it, vi } from 'vitest'
import {
  answerOf,
  decodeWindow,
  describeWindow,
  encodeWindow,
  MonitorError,
  mergeWindow,
  monitorConfig,
  mostSketchBytes,
  mostWindowBytes,
  Window,
} from '../../src/monitor/index.ts'
import { createSketch, LdSketch } from '../../src/sketch/index.ts'
import { crcUpdate } from '../../src/wire/index.ts'
import { Traffic } from './traffic.ts'

function busy(seed = 1, agent = 'a', run = 'r'): Window {
  const traffic = new Traffic({ seed, agent, run })
  for (let psn = 0; psn < 40; psn++) {
    if (psn === 7) continue
    traffic.send(psn, { payload: 4 * psn })
    traffic.ack(psn, psn === 8 ? 0x60 : 0x1f)
  }
  traffic.read(40, 64)
  traffic.response(40, 64)
  return traffic.end()
}

it('comes out of its bytes as it went in', () => {
  const window = busy()
  const again = decodeWindow(encodeWindow(window))
  expect(answerOf(again)).toEqual(answerOf(window))
  expect(again.parts).toEqual(window.parts)
  expect(describeWindow(encodeWindow(window))).toMatchObject({ index: window.index, parts: window.parts })
})

it('merges to what one agent would have seen of both parts', () => {
  const [one, two, twice] = [busy(1, 'a', 'r'), busy(1, 'b', 's'), busy(1, 'c', 't')]
  const [packets, messages] = [
    one.count('packets') + two.count('packets'),
    one.count('messages') + two.count('messages'),
  ]
  mergeWindow(one, two)
  expect([one.count('packets'), one.count('messages')]).toEqual([packets, messages])
  expect(one.sketches.bytes.total).toBe(2 * twice.sketches.bytes.total)
  expect(one.sketches.flows.cardinality().value).toBeCloseTo(twice.sketches.flows.cardinality().value)
  expect(answerOf(one).agents).toEqual(['a', 'b'])
})

it('merges many windows in time that grows with their number', () => {
  const config = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
  let asked = 0
  const windowOf = (sequence: number): Window => {
    const window = new Window(config, sequence)
    window.parts.push({
      ...{ agent: 'a', sequence },
      get run() {
        asked++
        return 'r'
      },
    })
    return window
  }
  const sum = windowOf(0)
  for (let sequence = 1; sequence < 100; sequence++) mergeWindow(sum, windowOf(sequence))
  expect(sum.parts).toHaveLength(100)
  expect(asked).toBeLessThan(1000)
})

it('does not merge a part twice, other seeds, or other lengths', () => {
  const code = (run: () => void): string => {
    try {
      run()
    } catch (error) {
      if (error instanceof MonitorError) return error.message
    }
    return 'nothing thrown'
  }
  const window = busy()
  expect(code(() => mergeWindow(window, busy()))).toContain('both have window 0 of a')
  expect(code(() => mergeWindow(window, busy(2, 'b', 's')))).toContain('another seed')
  const other = new Window({ ...monitorConfig({ seed: 1, memoryBytes: 2 ** 23 }), windowMs: 2000 }, window.index)
  expect(code(() => mergeWindow(window, other))).toContain('last 2 s')
})

it('refuses damaged bytes, whatever is damaged', () => {
  const bytes = encodeWindow(busy())
  const refused = (damaged: Uint8Array): boolean => {
    try {
      decodeWindow(damaged)
      return false
    } catch (error) {
      if (error instanceof MonitorError) return true
      throw error
    }
  }
  expect(refused(bytes.subarray(0, bytes.length - 1))).toBe(true)
  expect(refused(Uint8Array.of(...bytes.subarray(0, 4), 99, ...bytes.subarray(5, 2000)))).toBe(true)
})

describe('a window that an agent made up', () => {
  /** The bytes of a window whose description is another one, with a right checksum. */
  const described = (change: (description: Record<string, unknown>) => void): Uint8Array => {
    const bytes = encodeWindow(busy())
    const view = new DataView(bytes.buffer)
    const end = 13 + view.getUint32(5, true)
    const description = JSON.parse(new TextDecoder().decode(bytes.subarray(13, end)))
    change(description)
    const text = new TextEncoder().encode(JSON.stringify(description))
    const head = bytes.slice(0, 13)
    new DataView(head.buffer).setUint32(5, text.length, true)
    new DataView(head.buffer).setInt32(9, ~crcUpdate(-1, text, 0, text.length), true)
    return Uint8Array.from(Buffer.concat([head, text, bytes.subarray(end)]))
  }
  const part = { agent: 'a', run: 'r', sequence: 0 }
  const burst = { name: 'x', fields: {}, startMs: 0, microseconds: 1, peak: 1, mean: 1 }
  const bytes = { value: 1, lower: 1, upper: 1, confidence: 1 }

  it('is one as long as nothing is wrong, as with a message that took a century', () => {
    const message = { key: Array(12).fill(0), operation: 'SEND', psn: 0, bytes: 1, packets: 1, atMs: 0, ns: 3e18 }
    expect(decodeWindow(described((one) => Object.assign(one, { slowest: [message] }))).slowest.list).toEqual([message])
    expect(decodeWindow(described((one) => Object.assign(one, { bursts: [{ ...burst, bytes }] }))).bursts).toHaveLength(
      1,
    )
  })

  for (const [what, change] of [
    ['time', { span: 0 }],
    ['time', { index: -1 }],
    ['time', { index: 8.64e15 }],
    ['memory', { sketchBytes: 2 ** 29 + 1 }],
    ['parts', { parts: [{ ...part, sequence: 'x' }] }],
    ['parts', { parts: [{ ...part, agent: '\u001b[2J' }] }],
    ['parts', { parts: [{ ...part, run: 'a\u202eb' }] }],
    ['bursts', { bursts: [{ ...burst, bytes, name: 'a\nb' }] }],
    ['bursts', { bursts: [{ ...burst, bytes, fields: { joy: 1 } }] }],
    ['bursts', { bursts: [{ ...burst, bytes, fields: { source: ['a'] } }] }],
    ['bursts', { bursts: [{ ...burst, bytes: { ...bytes, confidence: 'much' } }] }],
    [
      'messages',
      {
        largest: [{ key: Array(12).fill(0), operation: 'x'.repeat(99), psn: 0, bytes: 1, packets: 1, atMs: 0, ns: 0 }],
      },
    ],
    ['pauses', { pausedBy: [['no port', [1]]] }],
    ['source QPs', { sourceQps: [['x'.repeat(110), 1]] }],
  ] as const)
    it(`is refused for its ${what}: ${JSON.stringify(change).slice(0, 60)}`, () => {
      expect(() => decodeWindow(described((one) => Object.assign(one, change)))).toThrow(
        `its ${what} are impossible`.replace(/(time|memory) are/, '$1 is'),
      )
    })

  it('keeps of bursts and messages only what they have', () => {
    const message = { key: Array(12).fill(0), operation: 'SEND', psn: 0, bytes: 1, packets: 1, atMs: 0, ns: 3 }
    const more = { junk: 'x'.repeat(1000) }
    const window = decodeWindow(
      described((one) =>
        Object.assign(one, {
          ...{ bursts: [{ ...burst, ...more, bytes: { ...bytes, ...more } }], parts: [{ ...part, ...more }] },
          ...{ slowest: [{ ...message, ...more }], largest: [{ ...message, ...more }], ...more },
        }),
      ),
    )
    expect(window.bursts).toEqual([{ ...burst, bytes }])
    expect([...window.slowest.list, ...window.largest.list]).toEqual([message, message])
    expect(window.parts).toEqual([part])
    expect(JSON.stringify(answerOf(window))).not.toContain('xxx')
  })

  it('is refused for a sketch of another kind or size, which is not restored', () => {
    const window = busy()
    const ld = createSketch('ld', { bytes: 2 ** 16, keyBytes: 48, seed: window.plan.seed })
    Object.assign(window.sketches, { bytes: ld })
    const restored = vi.spyOn(LdSketch.prototype as unknown as { restored(): unknown }, 'restored')
    expect(() => decodeWindow(encodeWindow(window))).toThrow('of kind ld, not coco')
    expect(restored).not.toHaveBeenCalled()
    restored.mockRestore()
    const other = busy()
    const [latency] = other.flowLatencies.values()
    latency!.sketch = createSketch('ddsketch', { bytes: 4096, accuracy: 0.05 })
    expect(() => decodeWindow(encodeWindow(other))).toThrow(MonitorError)
  })
})

it('is as long as its plan allows, with any memory', () => {
  for (const memoryBytes of [2 ** 20, 3 * 2 ** 20, 2 ** 25]) {
    const plan = monitorConfig({ seed: 1, memoryBytes })
    const window = new Window(plan, 0)
    for (let n = 0; n < 64; n++) window.latencyOf(Int32Array.from({ length: 12 }, () => n))
    const length = encodeWindow(window).length
    expect(length).toBeLessThan(mostWindowBytes(plan))
    // A file and a collector take no less.
    expect(length).toBeGreaterThan(plan.sketchBytes / 2)
  }
  // With all that one agent can say beside the sketches, in the longest words; and not with a description of any length.
  const plan = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
  const name = '\u2603'.repeat(256)
  const window = new Window(plan, 0)
  window.parts.push({ agent: name, run: name, sequence: 2 ** 50 })
  const word = -(2 ** 31)
  const key = Array<number>(12).fill(word)
  window.counters.fill(Number.MAX_SAFE_INTEGER)
  for (let n = 0; n < 2000; n++) window.pausesOf(`${name} 00:00:00:00:${10_000 + n}`)?.fill(Number.MAX_SAFE_INTEGER)
  for (let n = 0; n < 16_384; n++)
    window.sourceQps.set([...Array(7).fill(word), word + n, 255, 0xffffff, 3].join(), 0xffffff)
  for (let n = 0; n < 64; n++) window.latencyOf(Int32Array.from([...key.slice(0, 7), word + n, ...key.slice(8)]))
  const fields = Object.fromEntries(['source', 'destination', 'service', 'operation'].map((field) => [field, name]))
  const bytes = { value: 1 / 3e100, lower: 1 / 3e100, upper: 1 / 3e100, confidence: 1 / 3e100 }
  const burst = {
    ...{ name, fields, bytes, startMs: 1 / 3e100 },
    microseconds: 1e300,
    peak: 1 / 3e100,
    mean: 1 / 3e100,
  }
  window.bursts = Array(32).fill(burst)
  const message = { psn: 1 / 3e100, bytes: 1 / 3e100, packets: 1 / 3e100, atMs: 1 / 3e100, ns: 1 / 3e100 }
  for (let n = 0; n < 32; n++)
    for (const list of [window.largest, window.slowest])
      list.add({ key, operation: 'ATOMIC_WRITE' as never, ...message })
  const { length } = encodeWindow(window)
  expect(length).toBeLessThan(mostWindowBytes(plan))
  expect(length).toBeGreaterThan(mostWindowBytes(plan) / 2)
  expect(monitorConfig({ memoryBytes: 2 ** 34 }).sketchBytes).toBe(mostSketchBytes)
})
