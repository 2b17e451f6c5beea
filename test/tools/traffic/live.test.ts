/** The line about a run that goes on. */
import { expect, it } from 'vitest'
import { LiveLine, Progress } from '../../../src/tools/traffic/live.ts'
import { Live } from '../../../src/traffic/run/control.ts'

function live(seconds: number, done: number, other: Partial<Record<keyof typeof Live, number>> = {}): Float64Array {
  const values = new Float64Array(Live.count)
  const all = { ns: seconds * 1e9, asked: done, done, bytes: 1000 * done, ...other }
  for (const [key, value] of Object.entries(all)) values[Live[key as keyof typeof Live]] = value
  return values
}

it('has the rates of the last second, not those since the start', () => {
  const line = new LiveLine()
  expect(line.text(live(0, 0))).toBe('measuring the fastest request')
  expect(line.text(live(0.5, 100))).toBe('0.5 s  100 of 100 requests  200/s  1.6 Mbit/s  0 waiting')
  for (const quarter of [1, 2, 3, 4]) line.text(live(0.5 + quarter / 4, 100 + quarter * 250))
  expect(line.text(live(1.75, 1350))).toBe('1.8 s  1,350 of 1,350 requests  1,000/s  8 Mbit/s  0 waiting')
  for (const quarter of [1, 2, 3, 4]) line.text(live(1.75 + quarter / 4, 1350))
  expect(line.text(live(3, 1350, { asked: 2000, waiting: 12 }))).toBe(
    '3.0 s  1,350 of 2,000 requests  0/s  0 bit/s  12 waiting',
  )
})

it('is said now and then where it cannot be written over, of a run that takes more than two seconds', () => {
  const notes: string[] = []
  const written: string[] = []
  let ms = 0
  const terminal = { write: (text: string) => written.push(text) }
  const progress = new Progress(terminal, (text) => notes.push(text), () => ms) // biome-ignore format: one line
  for (; ms <= 25_000; ms += 250) progress.show(live(ms / 1000, ms))
  progress.clear()
  expect([written, notes.map((text) => text.split('  ')[0])]).toEqual([[], ['2.0 s', '12.0 s', '22.0 s']])
  const shown = new Progress({ ...terminal, isTTY: true, columns: 30 }, (text) => notes.push(text), () => ms) // biome-ignore format: one line
  shown.show(live(1, 5))
  shown.clear()
  expect(written).toEqual(['\r\u001b[K1.0 s  5 of 5 requests  5/s  ', '\r\u001b[K'])
  expect(notes).toHaveLength(3)
  new Progress(terminal, null, () => (ms += 5000)).show(live(1, 5))
  expect([written.length, notes.length]).toEqual([2, 3])
})

it('says what was lost and what failed', () => {
  const trouble = live(2, 10, { lost: 3, failed: 4 })
  expect(new LiveLine().text(trouble)).toMatch(/ {2}3 lost {2}4 failed$/)
})
