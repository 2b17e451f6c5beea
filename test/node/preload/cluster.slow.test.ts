/** The workers of a cluster share a port: alone, with TCP beside it, on `roce`, where the primary does not hand out connections of TCP; `reusePort`. */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { overDevice, run } from '../children.ts'
import { sharesItsPort } from './clusters.ts'

const device = `shm:clusters${process.pid}`
const beside = overDevice(device, 'local')
const alone = overDevice(device, 'local rdma-only')
const unscheduled = { NODE_CLUSTER_SCHED_POLICY: 'none' }

sharesItsPort('over shm alone', alone, { alone: true })
sharesItsPort('over shm and TCP', beside)
sharesItsPort('over shm and TCP, SCHED_NONE', { ...beside, env: { ...beside.env!, ...unscheduled } })
sharesItsPort('over shm alone, SCHED_NONE', { ...alone, env: { ...alone.env!, ...unscheduled } }, { alone: true })

const roce = overDevice(loopbackDevice(1), `${loopbackAddress(0)}/24`)
const roceAlone = overDevice(loopbackDevice(1), `${loopbackAddress(0)}/24 rdma-only`)
sharesItsPort('over roce and TCP', roce, { host: loopbackAddress(1) })
sharesItsPort('over roce alone', roceAlone, { host: loopbackAddress(1), alone: true })

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasReusePort = major > 22 || (major === 22 && minor >= 12)

describe.skipIf(!nativeAvailable || !hasReusePort)('without a cluster', () => {
  it.each([
    ['shm and TCP', beside],
    ['shm alone', alone],
  ])('servers with the option reusePort share a port over %s', async (_, how) => {
    const { out, err } = await run(['reuse.mjs'], how)
    expect(out).toEqual(['child, parent', 'EADDRINUSE'])
    expect(err.filter((line) => line.startsWith('verbena: connect') && !/: RDMA \(/.test(line))).toEqual([])
  })
})
