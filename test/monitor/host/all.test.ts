/** What happens to the others when one of those that work together fails. */
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { all } from '../../../src/monitor/host/index.ts'
import { Budget, Comparer } from '../../../src/monitor/index.ts'
import { Together } from '../../../src/tools/monitor/together.ts'
import { Traffic } from '../traffic.ts'

it('the others are told to end, and have ended when what it said is thrown', async () => {
  const ended: number[] = []
  const waits = (n: number) => async (signal: AbortSignal) => {
    if (!signal.aborted) await once(signal, 'abort')
    ended.push(n)
  }
  const fails = async () => {
    await Promise.resolve()
    throw new Error('too large')
  }
  await expect(all(new AbortController().signal, [waits(0), fails, waits(2)])).rejects.toThrow('too large')
  expect(ended).toEqual([0, 2])
})

it('without a failure it gives what all have', async () => {
  const stop = new AbortController()
  const late = async (signal: AbortSignal) => {
    setTimeout(() => stop.abort(), 1)
    await once(signal, 'abort')
    return 2
  }
  expect(await all(stop.signal, [async () => 1, late])).toEqual([1, 2])
})

it('captures that are compared together do not wait for one that has failed', async () => {
  const comparer = new Comparer({ keys: ['qp'], measure: 'bytes', top: 10, threshold: 0.001, sketchBytes: 2 ** 18 })
  const together = new Together(comparer, new Budget(2 ** 24))
  const [ahead, failed] = [together.join('a'), together.join('b')]
  const traffic = new Traffic()
  for (let psn = 0; psn < 8; psn++) traffic.send(psn, {}, 1e9)
  traffic.observer.finish()
  const waits = async (signal: AbortSignal) => {
    for (const window of traffic.windows) ahead.add(window)
    const pace = ahead.pace(signal)
    expect(pace.isFull?.()).toBe(true)
    await pace.room?.()
  }
  const fails = async () => {
    expect(failed.pace(new AbortController().signal).isFull?.()).toBe(false)
    throw new Error('too large')
  }
  await expect(all(new AbortController().signal, [waits, fails])).rejects.toThrow('too large')
})
