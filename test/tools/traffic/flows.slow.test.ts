import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { canShare, freePort, segment } from '../../cli/ends.ts'

import { client, device, flowsArrive, server } from './ends.ts'

flowsArrive('shm', device, device)

describe.skipIf(!canShare)('traffic', { timeout: 60_000 }, () => {
  it('flows with a rate take their time', async () => {
    const one = await server(device, '--once')
    const { run } = await client(device, [one.port], 'count: 1\nsize: 1MiB\nrate: 80Mbps\nrequests: 1k/s')
    // 1 MiB at 10 MB/s, less the first message, which goes at once.
    expect(run.all.fct.min).toBeGreaterThan(100e6)
    await one.running.outcome
  })

  it('a server that is down is counted, and the others go on', async () => {
    const one = await server(device, '--once')
    const down = Number(await freePort())
    const { code, run } = await client(device, [one.port, down], 'count: 200\nrequests: 20k/s\nsize: 8')
    expect(code).toBe(1)
    expect(Object.keys(run.unreachable)).toEqual([`127.0.0.1:${down}`])
    expect(run.all.done + run.all.failed).toBe(200)
    expect(run.servers[`127.0.0.1:${one.port}`].failed).toBe(0)
    expect(run.servers[`127.0.0.1:${down}`]).toMatchObject({ done: 0 })
    await one.running.outcome
  })

  it('a server that ends while it connects is counted, and the others go on', async () => {
    const ends = [await server(device), await server(device)]
    // Between the client and the second one: goes away when the client has said where its queue pairs are.
    const between = createServer((one) => {
      const other = connect(ends[1]!.port, '127.0.0.1')
      for (const socket of [one, other]) socket.on('error', () => undefined)
      other.pipe(one)
      one.on('data', (data) => {
        if (!data.includes('"connect"')) other.write(data)
        else for (const socket of [one, other]) socket.destroy()
      })
    })
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
    const { port } = between.address() as AddressInfo
    const { code, run } = await client(device, [ends[0]!.port, port], 'count: 200\nrequests: 100k/s\nsize: 100')
    between.close()
    expect(code).toBe(1)
    expect(Object.keys(run.unreachable)).toEqual([`127.0.0.1:${port}`])
    expect(run.all.done + run.all.failed).toBe(200)
    expect(run.servers[`127.0.0.1:${ends[0]!.port}`]).toMatchObject({ failed: 0, done: run.all.done })
    expect(run.all.done).toBeGreaterThan(0)
    for (const { running } of ends) running.interrupt()
    await Promise.all(ends.map(({ running }) => running.outcome))
  })

  it('says why when no server can be used, or when it does not agree', async () => {
    const down = Number(await freePort())
    const none = await client(device, [down], 'size: 8')
    expect([none.code, none.run]).toEqual([2, null])
    expect(none.stderr).toMatch(/^verbena: servers: none can be used: 127\.0\.0\.1:\d+: nobody listens on /)
    const one = await server(segment(), '--once')
    const apart = await client(device, [one.port], 'size: 8')
    expect([apart.code, apart.stderr]).toEqual([2, expect.stringMatching(/different segments/)])
    expect((await one.running.outcome).code).toBe(1)
  })
})
