/** What `verbena bench collective` refuses. */
import { describe, expect, it } from 'vitest'
import { verbena } from '../../cli/run.ts'

describe('usage', () => {
  it.each([
    [['--rank', '0', '--ranks', '2'], /nothing says where rank 0 is.*--meet/],
    [['--rank', '0', '--ranks', '1'], /one rank has nobody to talk to/],
    [[], /no launcher says which rank this is/],
    [['--procs', '1'], /--procs: '1'/],
    [['--procs', '2', '--pin', '3'], /--pin: '3'/],
    [['--procs', '2', '--mode', 'ATOMIC'], /--mode: 'ATOMIC'/],
  ])('%o', async (args, message) => {
    const { code, stdout, stderr } = await verbena('bench', 'collective', ...args)
    expect(code).not.toBe(0)
    expect([stdout, stderr]).toEqual(['', expect.stringMatching(message)])
  })
})
