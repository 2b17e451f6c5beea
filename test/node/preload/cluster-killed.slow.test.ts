/** Workers of a cluster that are killed while clients connect. */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { overDevice, run } from '../children.ts'

const alone = overDevice(`shm:killed${process.pid}`, 'local rdma-only')
const roceAlone = overDevice(loopbackDevice(1), `${loopbackAddress(0)}/24 rdma-only`)

describe.skipIf(!nativeAvailable)('a cluster whose workers are killed while clients connect', () => {
  it.each([
    ['shm', '127.0.0.1', alone],
    ['roce', loopbackAddress(1), roceAlone],
  ])('goes on, and no client waits for ever, over %s', async (_, host, how) => {
    const { out, err } = await run(['churn.mjs', '5', host], how)
    expect(out).toEqual(['answered true', 'not answered only those of a worker that died', 'answered'])
    expect(err.filter((line) => !line.startsWith('verbena: '))).toEqual([])
  })
})
