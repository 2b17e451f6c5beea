/** The calls of ids that are awaited in the event loop: with a channel and without, and how they end. */
import { afterEach, describe, expect, it } from 'vitest'
import { CmEventType, type CmId, createId, PortSpace, RdmaCmError } from '../../../src/index.ts'
import { Pair, places, talk } from './rig.ts'

const { Tcp, Udp } = PortSpace

async function errorOf(promise: Promise<unknown>): Promise<RdmaCmError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(RdmaCmError)
  return error as RdmaCmError
}

describe.each(places)('$name', (place) => {
  let t: Pair
  const ids: CmId[] = []
  const keep = (id: CmId): CmId => {
    ids.push(id)
    return id
  }
  afterEach(() => {
    for (const id of ids.splice(0)) id.close()
    t?.close()
  })
  const listening = (id: CmId): CmId => {
    keep(id).bindAddr({ address: place.address })
    id.listen()
    return id
  }
  const resolved = async (id: CmId, port: number): Promise<CmId> => {
    await keep(id).resolveAddrAsync(null, { address: place.address, port })
    await id.resolveRouteAsync()
    return id
  }

  it('a connection from end to end, both ends awaited in one thread, with channels and without', async () => {
    t = new Pair(place)
    for (const channels of [true, false]) {
      const make = (which: 'server' | 'client'): CmId =>
        channels ? t[which].createId(Tcp) : createId(Tcp, { device: place[which] })
      const listener = listening(make('server'))
      const serving = listener.getRequestAsync().then(async (id) => {
        keep(id)
        expect([...id.event!.param.privateData.subarray(0, 2)]).toEqual([1, 2])
        const end = t.end(id)
        await id.acceptAsync({ privateData: Uint8Array.of(3, 4) })
        return end
      })
      const id = await resolved(make('client'), listener.localAddress.port)
      const a = t.end(id)
      const established = await id.connectAsync({ privateData: Uint8Array.of(1, 2) })
      expect([...established.param.privateData.subarray(0, 2)]).toEqual([3, 4])
      const b = await serving
      await talk(a, b)
      const gone = b.id.disconnectAsync()
      await Promise.all([id.disconnectAsync(), gone])
      // What was awaited is no event of the channel.
      if (channels) await t.quiet(t.server, t.client)
    }
  })

  it('a rejection rejects, with the event', async () => {
    t = new Pair(place)
    const listener = listening(t.server.createId(Tcp))
    const refusing = listener.getRequestAsync().then((id) => keep(id).reject(Uint8Array.of(9)))
    const id = await resolved(t.client.createId(Tcp), listener.localAddress.port)
    t.end(id)
    const error = await errorOf(id.connectAsync())
    expect(error.code).toBe('ECONNREFUSED')
    expect(error.event?.type).toBe(CmEventType.Rejected)
    expect(error.event?.param.privateData[0]).toBe(9)
    expect(id.event).toBe(error.event)
    await refusing
  })

  it('an id that closes, or goes to another channel, ends what is awaited', async () => {
    t = new Pair(place)
    const listener = listening(t.server.createId(Tcp))
    const waiting = errorOf(listener.getRequestAsync())
    listener.close()
    expect((await waiting).code).toBe('EBADF')
    const other = listening(t.server.createId(Tcp))
    const migrating = errorOf(other.getRequestAsync())
    other.migrateId(t.client)
    expect((await migrating).message).toContain('another channel')
    const last = listening(t.server.createId(Tcp))
    const closing = errorOf(last.getRequestAsync())
    t.server.close()
    expect((await closing).code).toBe('EBADF')
  })

  it('requests that are awaited at the same time go to one each; the rest to the channel', async () => {
    t = new Pair(place)
    const listener = listening(t.server.createId(Tcp))
    const both = [listener.getRequestAsync(), listener.getRequestAsync()]
    const clients: Promise<unknown>[] = []
    for (let i = 0; i < 3; i++) {
      const id = await resolved(t.client.createId(Tcp), listener.localAddress.port)
      t.end(id)
      clients.push(id.connectAsync().catch((error: unknown) => error))
    }
    const [first, second] = await Promise.all(both)
    expect(first).not.toBe(second)
    const third = await t.server.nextEvent(10_000)
    expect(third?.type).toBe(CmEventType.ConnectRequest)
    expect(new Set([first, second, third!.id]).size).toBe(3)
    for (const id of [first!, second!, third!.id]) keep(id).reject()
    for (const client of clients) expect(await client).toBeInstanceOf(RdmaCmError)
  })

  it('what cannot be asked for rejects at once', async () => {
    t = new Pair(place)
    const id = keep(t.client.createId(Tcp))
    expect((await errorOf(id.connectAsync())).code).toBe('EINVAL')
    expect((await errorOf(id.getRequestAsync())).code).toBe('EINVAL')
    expect((await errorOf(id.joinMulticastAsync({ address: '239.1.2.3' }))).message).toContain('UD ids')
  })

  it('datagrams: accept waits for nothing, a group is joined', async () => {
    t = new Pair(place)
    const listener = listening(t.server.createId(Udp))
    const serving = listener.getRequestAsync().then(async (id) => {
      t.end(keep(id))
      await id.acceptAsync()
    })
    const id = await resolved(t.client.createId(Udp), listener.localAddress.port)
    t.end(id)
    const { param } = await id.connectAsync()
    expect(param.qpNum).toBeGreaterThan(0)
    await serving
    const group = await id.joinMulticastAsync({ address: '239.1.2.3' }, 'mine')
    expect(group.param).toMatchObject({ qpNum: 0xffffff, context: 'mine' })
  })
})
