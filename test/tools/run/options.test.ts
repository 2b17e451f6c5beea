/** The options of `verbena run`: which adapters a program has. */
import { describe, expect, it } from 'vitest'
import { runAdapters, runMiddleware } from '../../../src/tools/run/adapters.ts'

describe('adapters of a run', () => {
  it('are one in the segment where runs meet, called rxe0', () =>
    expect(runAdapters([], [])).toEqual([{ device: 'shm:run', name: 'rxe0' }]))

  it('have names in order, past those that were given', () =>
    expect(runAdapters(['shm:a', 'shm:b', 'shm:c'], ['rxe1'])).toEqual([
      { device: 'shm:a', name: 'rxe1' },
      { device: 'shm:b', name: 'rxe0' },
      { device: 'shm:c', name: 'rxe2' },
    ]))

  it.each([
    [[], ['mlx5_0'], /begins with rxe.*for example: --name rxe0/],
    [[], ['rxe0', 'rxe1'], /2 names for 1 adapters/],
    [['shm:a', 'shm:b'], ['rxe0', 'rxe0'], /two adapters are called rxe0/],
    [['shm0'], [], /lives within one process.*shm:run/],
    [[], ['rxe/../x'], /is not valid/],
  ])('%j called %j are a usage error', (devices, names, message) =>
    expect(() => runAdapters(devices, names)).toThrow(message),
  )

  it('may be on the network, and all of them if something is to happen to packets', () => {
    const adapters = runAdapters(['roce:127.0.0.1', 'roce'], [])
    expect(runMiddleware(adapters, { faults: 'loss=1%', tap: 'a.pcapng' })).toEqual({
      faults: 'loss=1%',
      tap: 'a.pcapng',
    })
    expect(() => runMiddleware(runAdapters(['roce', 'shm:a'], []), { tap: 'a.pcapng' })).toThrow(/shm:a has no packets/)
    expect(runMiddleware(runAdapters([], []), {})).toEqual({})
  })
})
