/** Programs at the edges of sockets, and of their ends, on each device: they print what they print over TCP. */
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { overDevice, plainOutput, run } from '../children.ts'

const places = [
  { name: 'shm', host: '127.0.0.1', how: overDevice(`shm:edges${process.pid}`, 'local') },
  { name: 'roce', host: loopbackAddress(1), how: overDevice(loopbackDevice(1), `${loopbackAddress(0)}/24`) },
]

describe.skipIf(!nativeAvailable).each(places)('on $name', ({ host, how }) => {
  it.each(['edges.mjs', 'ends.mjs'])('%s', async (app) => {
    const { out, err, code } = await run([app, host], how)
    expect(out).toEqual(await plainOutput(app))
    expect(code).toBe(0)
    expect(err).toContainEqual(expect.stringMatching(/: RDMA \(/))
  })
})
