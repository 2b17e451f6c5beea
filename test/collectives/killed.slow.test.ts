/** Ranks in processes of their own, of which one is killed. */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { segments, start } from './processes.ts'

describe.skipIf(!nativeAvailable)('processes', () => {
  it('one is killed: the others end, name it, and leave nothing', async () => {
    const before = segments()
    const { code, err } = await start(3, 'killed')
    expect(code).not.toBe(0)
    expect(err).toMatch(/rank 1\b.*killed/)
    expect(err).toMatch(/rank 1 cannot be reached any more|rank 1 \(.*\) /)
    expect(segments().filter((name) => !before.includes(name))).toEqual([])
  })
})
