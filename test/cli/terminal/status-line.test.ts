/** A line that is written over: within the columns, and only where a person sees it. */
import { expect, it, vi } from 'vitest'
import { type OutputStream, StatusLine } from '../../../src/cli/terminal/index.ts'
import { Progress } from '../../../src/tools/bench-kit/progress.ts'

const terminal = (columns: number | undefined, isTTY = true) => {
  const written: string[] = []
  return { written, stream: { isTTY, columns, write: (text: string) => written.push(text) } }
}

it.each([1, 2, 20, 40])('never wraps in %i columns', (columns) => {
  const { written, stream } = terminal(columns)
  new StatusLine(stream).show('x'.repeat(100))
  expect(written).toEqual([`\r\u001b[K${'x'.repeat(columns - 1)}`])
})

it('is taken away once, if it was shown', () => {
  const { written, stream } = terminal(undefined)
  const line = new StatusLine(stream)
  line.clear()
  line.show('a')
  line.show('b')
  line.clear()
  line.clear()
  expect(written).toEqual(['\r\u001b[Ka', '\r\u001b[Kb', '\r\u001b[K'])
})

it('writes nothing where no terminal is', () => {
  const { written, stream } = terminal(80, false)
  const line = new StatusLine(stream)
  line.show('a')
  line.clear()
  expect([line.visible, written]).toEqual([false, []])
})

it('shows the bar of a plan after two seconds, then with each set', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { written, stream } = terminal(60)
    const progress = new Progress(4, stream as unknown as OutputStream)
    progress.update(1, 'first')
    vi.advanceTimersByTime(1999)
    expect(written).toEqual([])
    vi.advanceTimersByTime(1)
    progress.update(4, 'last')
    progress.stop()
    progress.update(4, 'late')
    const bar = (full: number): string => '█'.repeat(full) + '░'.repeat(28 - full)
    expect(written).toEqual([`\r\u001b[K${bar(7)} 1/4  first`, `\r\u001b[K${bar(28)} 4/4  last`, '\r\u001b[K'])
  } finally {
    vi.useRealTimers()
  }
})
