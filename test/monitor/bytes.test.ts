import { expect, it } from 'vitest'
import {
  answerOf,
  decodeWindow,
  describeWindow,
  encodeWindow,
  MonitorError,
  mergeWindow,
  monitorConfig,
  Window,
} from '../../src/monitor/index.ts'
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
  const text = new TextDecoder('latin1').decode(bytes)
  for (const [from, to] of [
    ['"span":1', '"span":0'],
    ['"index":1', '"index":-'],
    ['"sequence":0', '"sequence":x'],
    ['"sketchBytes":26', '"sketchBytes":36'],
  ] as const) {
    expect(text.includes(from), from).toBe(true)
    expect(refused(Uint8Array.from(text.replace(from, to), (c) => c.charCodeAt(0))), from).toBe(true)
  }
})
