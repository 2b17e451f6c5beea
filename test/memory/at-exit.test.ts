/** One listener of `process` for all that is done at the exit. */
import { expect, it, vi } from 'vitest'

it('calls back in order, with one listener for all', async () => {
  const on = vi.spyOn(process, 'on').mockReturnValue(process)
  const { atExit } = await import('../../src/memory/native/at-exit.ts')
  const called: number[] = []
  atExit(() => called.push(1))
  atExit(() => called.push(2))
  const [[event, listener], ...others] = on.mock.calls.filter(([event]) => event === 'exit') as [[string, () => void]]
  on.mockRestore()
  expect([event, others]).toEqual(['exit', []])
  listener()
  expect(called).toEqual([1, 2])
})
