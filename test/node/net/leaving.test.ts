/** A process that ends with connections open says goodbye for them, as a kernel does for TCP. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../../src/index.ts'
import { createServer, type Socket } from '../../../src/node/net/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { finished, start } from '../children.ts'

/** An idle connection is asked every 15 s whether its peer is there, and a silent peer is given up 3 s later. */
const muchEarlierMs = 8000

describe.skipIf(!nativeAvailable)('a process that ends with a connection open, on roce', () => {
  const server = createServer({ device: loopbackDevice(1) })
  afterAll(() => {
    server.close()
  })

  it.each([
    ['exit', 3],
    ['throw', 1],
  ])('by %s', async (how, wanted) => {
    if (!server.listening) await once(server.listen(0, loopbackAddress(1)), 'listening')
    const { port } = server.address() as AddressInfo
    const child = start(['leaving.mjs', loopbackDevice(2), loopbackAddress(1), String(port), how])
    const ended = finished(child)
    const [socket] = (await once(server, 'connection')) as [Socket]
    const over = new Promise<string>((resolve) => {
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}`)).on('end', () => resolve('end'))
    })
    socket.once('data', () => socket.write('leave'))
    const { code } = await ended
    expect(code).toBe(wanted)
    const exited = performance.now()
    expect(['ECONNRESET', 'end']).toContain(await over)
    expect(performance.now() - exited).toBeLessThan(muchEarlierMs)
  })
})
