/** Ranks in processes of their own, with calls that block. */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { segments, start } from './processes.ts'

describe.skipIf(!nativeAvailable)('processes', () => {
  it('three of them: every collective, long and short', async () => {
    const before = segments()
    const { code, out, err } = await start(3, 'all')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe('rank 0 of 3: 96 calls\n')
    expect(segments().filter((name) => !before.includes(name))).toEqual([])
  })

  it('that poll for ever get what a multicast has lost', async () => {
    const { code, out, err } = await start(2, 'spinning')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe('rank 0 of 2: 12 calls\n')
  })
})
