/** `verbena perf … -R` on the first kind of device, and what both ends have to say alike. */
import { afterEach, describe, expect, it } from 'vitest'
import { canShare, freePort, segment } from '../../cli/ends.ts'
import { outcome } from '../../cli/run.ts'
import { killLeftovers, patience, start } from '../cm-kit/ends.ts'
import { kinds, rdmaCm } from './rdma-cm.ts'

afterEach(killLeftovers)

describe.each(kinds.slice(0, 1))('two processes on $name', rdmaCm)

describe('what cannot be', () => {
  it.skipIf(!canShare)('the ends disagree', async () => {
    const port = await freePort()
    const device = segment()
    const serving = outcome(start(['perf', 'send_lat', '-R', '-d', device, '-p', port]))
    const asked = await outcome(start(['perf', 'send_lat', '-d', device, '-p', port, ...patience, '127.0.0.1']))
    const served = await serving
    expect(served.stderr).toMatch(/-R is true at the server and false at the client/)
    expect([asked.code, served.code]).toEqual([1, 2])
  })
})
