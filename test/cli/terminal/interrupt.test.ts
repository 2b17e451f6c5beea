/** Signals that ask a command to stop, and those that end it at once. */
import { Writable } from 'node:stream'
import { afterEach, expect, it, vi } from 'vitest'
import { interruptible, runWith } from '../../../src/cli/terminal/index.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** The exit code that these signals, each at a time in milliseconds, end the process with; undefined if they do not. */
function endedBy(...signals: [name: 'SIGINT' | 'SIGTERM', ms: number][]): number | undefined {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  exit.mockClear()
  const now = vi.spyOn(performance, 'now')
  const before = new Set(signals.flatMap(([name]) => process.listeners(name)))
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done() })
  const interruption = runWith({ stdout: stderr, stderr }, [], () => interruptible())
  for (const [name, ms] of signals) {
    now.mockReturnValue(ms)
    for (const listener of process.listeners(name)) if (!before.has(listener)) listener(name)
  }
  expect(interruption.signal.aborted).toBe(true)
  interruption.dispose()
  return exit.mock.calls[0]?.[0] as number | undefined
}

it('the second Ctrl-C ends at once', () => {
  expect(endedBy(['SIGINT', 1000])).toBeUndefined()
  expect(endedBy(['SIGINT', 1000], ['SIGINT', 1001])).toBe(130)
})

it('another signal does, but not one that a launcher sends right behind the first', () => {
  expect(endedBy(['SIGINT', 1000], ['SIGTERM', 1500])).toBeUndefined()
  expect(endedBy(['SIGINT', 1000], ['SIGTERM', 2500])).toBe(130)
  expect(endedBy(['SIGTERM', 1000], ['SIGINT', 2500])).toBe(143)
})

it.each([
  [false, 'SIGTERM', 143],
  [false, 'SIGINT', 130],
  // A service that SIGTERM stops in order has done what it was to do.
  [true, 'SIGTERM', 0],
  [true, 'SIGINT', 130],
] as const)('isService %s, stopped in order by %s: %i', (isService, name, code) => {
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done() })
  const before = new Set(process.listeners(name))
  const interruption = runWith({ stdout: stderr, stderr }, [], () => interruptible('', { isService }))
  expect(interruption.exitCode()).toBeUndefined()
  for (const listener of process.listeners(name)) if (!before.has(listener)) listener(name)
  expect(interruption.exitCode()).toBe(code)
  interruption.dispose()
})

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends in order after a command has been stopped, too, unless somebody else listens', (name, code) => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done() })
  runWith({ stdout: stderr, stderr }, [], () => interruptible()).dispose()
  const left = process.listeners(name)
  const other = (): void => undefined
  process.on(name, other)
  try {
    for (const listener of left) listener(name)
    expect(exit).not.toHaveBeenCalled()
  } finally {
    process.off(name, other)
  }
  runWith({ stdout: stderr, stderr }, [], () => interruptible()).dispose()
  expect(process.listeners(name)).toEqual(left)
  const others = left.slice(0, -1)
  for (const listener of others) process.off(name, listener as () => void)
  try {
    left.at(-1)!(name)
    expect(exit).toHaveBeenCalledExactlyOnceWith(code)
  } finally {
    for (const listener of others) process.on(name, listener as () => void)
  }
})

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s that ends an interruption, in which another one had ended, ends nothing else',
  (name) => {
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
    const stderr = new Writable({ write: (_chunk, _encoding, done) => done() })
    const before = new Set(process.listeners(name))
    const outer = runWith({ stdout: stderr, stderr }, [], () => interruptible(''))
    runWith({ stdout: stderr, stderr }, [], () => interruptible('')).dispose()
    outer.signal.addEventListener('abort', () => outer.dispose())
    for (const listener of process.listeners(name)) if (!before.has(listener) || listener.name === name) listener(name)
    expect(outer.signal.aborted).toBe(true)
    expect(exit).not.toHaveBeenCalled()
  },
)
