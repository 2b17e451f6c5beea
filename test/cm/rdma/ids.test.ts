/** Ids and channels of the RDMA CM: addresses and ports, channels that change, ways to take events, misuse. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  AF_INET,
  type CmEvent,
  CmEventType,
  type CmId,
  createEventChannel,
  createId,
  eventText,
  openDevice,
  PortSpace,
  QpState,
  QpType,
  type QueuePair,
  RdmaCmError,
  rdmaCmErrorCodes,
  rsocket,
  SOCK_STREAM,
  VerbsError,
} from '../../../src/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { census } from '../../verbs/census.ts'
import { Pair, places, talk } from './rig.ts'

const T = CmEventType
const { Tcp, Udp } = PortSpace

function code(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof RdmaCmError || error instanceof VerbsError) {
      expect(error.message.length).toBeGreaterThan(20)
      return error.code
    }
    throw error
  }
  return 'nothing'
}

describe.each([places[0]!, places[2]!])('$name', (place) => {
  let t: Pair
  const start = (): Pair => {
    t = new Pair(place)
    return t
  }
  afterEach(() => t.close())
  const bind = (id: CmId, port: number): CmId => {
    id.bindAddr({ address: place.address, port })
    return id
  }

  it('without a channel: accept of what came to nothing throws, and does not wait for ever', () => {
    start()
    const { port } = bind(t.server.createId(Tcp), 0).localAddress
    const id = createId(Tcp, { device: place.client })
    try {
      id.resolveAddr(undefined, { address: place.address, port })
      id.resolveRoute()
      id.createQp()
      expect(code(() => id.connect())).toBe('ECONNREFUSED')
      expect(code(() => id.accept())).toBe('EINVAL')
    } finally {
      id.close()
    }
  })

  it('ports: taken once in each port space, given free by closing, any free one for 0', () => {
    start()
    const one = bind(t.server.createId(Tcp), 0)
    const { port } = one.localAddress
    expect(port).toBeGreaterThanOrEqual(32768)
    expect(port).toBeLessThan(61000)
    const another = t.server.createId(Tcp)
    expect(code(() => bind(another, port))).toBe('EADDRINUSE')
    expect(code(() => another.bindAddr({ address: '0.0.0.0', port }))).toBe('EADDRINUSE')
    bind(t.server.createId(Udp), port)
    one.close()
    bind(another, port)
    another.listen()
    expect(another.state).toBe('listening')
  })

  it('reuseAddr: several may bind, until one of them listens', () => {
    start()
    const [one, two, three] = [0, 0, 0].map(() => {
      const id = t.server.createId(Tcp)
      id.setOption('reuseAddr', true)
      return id
    }) as [CmId, CmId, CmId]
    bind(one, 0)
    bind(two, one.localAddress.port)
    expect(code(() => one.listen())).toBe('EADDRINUSE')
    two.close()
    one.listen()
    expect(code(() => bind(three, one.localAddress.port))).toBe('EADDRINUSE')
  })

  it('reusePort: a thread has a port once, and nobody without the number has it', () => {
    start()
    const create = (reusePort: number): CmId => {
      const id = t.server.createId(Tcp)
      id.setOption('reusePort', reusePort)
      return id
    }
    expect(code(() => create(-1))).toBe('EINVAL')
    const one = bind(create(7), 0)
    const { port } = one.localAddress
    for (const number of [0, 7, 8]) expect(code(() => bind(create(number), port))).toBe('EADDRINUSE')
    one.listen()
    one.close()
    bind(create(0), port)
  })

  it('addresses that the device does not have', async () => {
    start()
    const id = t.client.createId(Tcp)
    expect(code(() => id.bindAddr({ address: '192.0.2.1' }))).toBe('EADDRNOTAVAIL')
    expect(code(() => id.bindAddr({ address: 'localhost' }))).toBe('EINVAL')
    if (place.kind === 'shm') {
      id.resolveAddr(undefined, { address: '192.0.2.1', port: 1 })
      expect((await t.event(t.client, T.AddrError)).status).toBe(-19)
    }
    expect(id.state).toBe('idle')
  })

  it('the source that is asked for is the source', async () => {
    start()
    const listener = t.listen()
    const id = t.client.createId(Tcp)
    const address = place.kind === 'shm' ? '127.0.0.1' : place.client.slice('roce:'.length)
    id.resolveAddr({ address, port: 40_123 }, { address: place.address, port: listener.localAddress.port })
    await t.event(t.client, T.AddrResolved)
    expect(id.localAddress).toEqual({ address, port: 40_123, family: 4 })
    id.resolveRoute()
    await t.event(t.client, T.RouteResolved)
    t.end(id)
    id.connect()
    expect((await t.event(t.server, T.ConnectRequest)).id.peerAddress).toEqual({ address, port: 40_123, family: 4 })
  })

  it('createQp that fails leaves nothing, wherever it fails', () => {
    start()
    const id = bind(t.server.createId(Tcp), 0)
    // The one that ids share is made when it is first asked for.
    expect(id.pd).toBeDefined()
    const before = census(id.verbs!)
    const closed = id.verbs!.createCq(4)
    closed.close()
    for (const init of [{ cap: { maxSendSge: 1000 } }, { cap: { maxRecvWr: 2 ** 40 } }, { recvCq: closed }])
      expect(() => id.createQp(init)).toThrow()
    expect(census(id.verbs!)).toEqual(before)
    id.createQp()
    id.close()
  })

  it('close that fails can be repeated, and then frees everything', () => {
    start()
    const gid = Uint8Array.from([...new Array(10).fill(0), 255, 255, 239, 7, 7, 7])
    for (const close of ['id', 'channel'] as const) {
      const channel = createEventChannel({ device: place.server })
      const id = bind(channel.createId(Udp), 0)
      const other = bind(channel.createId(Udp), 0)
      const { port } = id.localAddress
      const qp = id.createQp() as QueuePair<typeof QpType.UD>
      qp.attachMcast(gid)
      expect(code(() => (close === 'id' ? id : channel).close())).toBe('EBUSY')
      expect([id.closed, channel.closed, other.closed]).toEqual([false, false, close === 'channel'])
      qp.detachMcast(gid)
      ;(close === 'id' ? id : channel).close()
      expect([id.closed, qp.closed, channel.closed]).toEqual([true, true, close === 'channel'])
      expect(code(() => bind(t.server.createId(Udp), port))).toBe('nothing')
      if (close === 'id') channel.close()
    }
  })

  it('resolveAddr can be repeated after AddrError, as it was called; the source of a bound id stays', async () => {
    start()
    const address = place.kind === 'shm' ? '127.0.0.1' : place.client.slice('roce:'.length)
    const id = t.client.createId(Tcp)
    id.resolveAddr({ address, port: 40_124 }, { address: '192.0.2.1', port: 1 })
    await t.event(t.client, T.AddrError)
    expect(id.state).toBe('bound')
    id.resolveAddr({ address, port: 40_124 }, { address: place.address, port: 1 })
    await t.event(t.client, T.AddrResolved)
    expect(id.localAddress).toEqual({ address, port: 40_124, family: 4 })
  })

  it('source and destination are of one family, but :: goes to both', async () => {
    start()
    const [one, any, both, only] = [0, 0, 0, 0].map(() => t.client.createId(Tcp)) as [CmId, CmId, CmId, CmId]
    one.bindAddr({ address: place.kind === 'shm' ? '127.0.0.1' : place.client.slice('roce:'.length) })
    expect(code(() => one.resolveAddr(undefined, { address: '::1', port: 1 }))).toBe('EINVAL')
    any.bindAddr({ address: '0.0.0.0' })
    expect(code(() => any.resolveAddr(undefined, { address: '::1', port: 1 }))).toBe('EINVAL')
    only.setOption('afOnly', true)
    only.bindAddr({ address: '::' })
    expect(code(() => only.resolveAddr(undefined, { address: place.address, port: 1 }))).toBe('EINVAL')
    both.bindAddr({ address: '::' })
    both.resolveAddr(undefined, { address: place.address, port: 1 })
    await t.event(t.client, T.AddrResolved)
    expect(code(() => t.client.createId(Tcp).resolveAddr(undefined, { address: 'fe80::1%nope', port: 1 }))).toBe(
      place.kind === 'shm' ? 'nothing' : 'EINVAL',
    )
  })

  it('initQpAttr gives INIT as soon as there is a device; an id that was rejected says so', async () => {
    start()
    t.listen()
    const id = await t.resolved({ address: place.address, port: 9 })
    expect(id.initQpAttr(QpState.Init)).toMatchObject({ state: QpState.Init, pkeyIndex: 0, port: 1 })
    expect(code(() => id.initQpAttr(QpState.Rtr))).toBe('EINVAL')
    expect(code(() => t.client.createId(Tcp).initQpAttr(QpState.Init))).toBe('EINVAL')
    const udp = await t.resolved({ address: place.address, port: 9 }, Udp)
    expect(udp.initQpAttr(QpState.Init)).toEqual({ state: QpState.Init, pkeyIndex: 0, port: 1, qkey: 0x01234567 })
    t.end(id)
    id.connect()
    await t.event(t.client, T.Rejected)
    expect(() => id.connect()).toThrow('was rejected or is over')
  })

  it('migrateId: events go to the other channel, those that wait too', async () => {
    start()
    const { a, b } = await t.connected()
    const other = createEventChannel({ device: place.server })
    try {
      a.id.disconnect()
      // It comes to the channel that the id has now …
      const end = performance.now() + 5000
      while (!t.server.has(b.id, T.Disconnected) && performance.now() < end) {
        t.client.tryGetEvent()
        await new Promise((resolve) => setImmediate(resolve))
      }
      // … and goes with it.
      b.id.migrateId(other)
      expect(b.id.channel === other).toBe(true)
      expect(t.server.tryGetEvent()).toBeUndefined()
      expect(other.tryGetEvent()?.type).toBe(T.Disconnected)
      b.id.disconnect()
      await t.event(other, T.TimewaitExit)
      b.close()
    } finally {
      other.close()
    }
  })

  it('migrateId: a listening id takes its requests with it, and the old channel may close', async () => {
    start()
    const listener = t.listen()
    const { port } = listener.localAddress
    const old = createEventChannel({ device: place.server })
    listener.migrateId(old)
    const other = createEventChannel({ device: place.server })
    const id = await t.resolved({ address: place.address, port })
    t.end(id)
    id.connect()
    const request = await t.event(old, T.ConnectRequest)
    request.id.migrateId(other)
    listener.migrateId(other)
    old.close()
    const b = t.end(request.id)
    request.id.accept()
    await t.event(t.client, T.Established)
    await t.event(other, T.Established)
    b.close()
    other.close()
  })

  it('for await and onReadable in the event loop', async () => {
    start()
    const listener = t.listen()
    const names: string[] = []
    const seen = new Promise<void>((resolve) => {
      const stop = t.server.onReadable(() => {
        for (let event = t.server.tryGetEvent(); event !== undefined; event = t.server.tryGetEvent()) {
          names.push(`server ${event.name}`)
          if (event.type === T.ConnectRequest) {
            t.end(event.id)
            event.id.accept()
          }
          if (event.type === T.Disconnected) {
            event.id.disconnect()
            stop()
            resolve()
          }
        }
      })
    })
    const id = t.client.createId(Tcp)
    id.resolveAddr(undefined, { address: place.address, port: listener.localAddress.port })
    for await (const event of t.client) {
      names.push(`client ${event.name}`)
      if (event.type === T.AddrResolved) id.resolveRoute()
      else if (event.type === T.RouteResolved) {
        t.end(id)
        id.connect()
      } else if (event.type === T.Established) id.disconnect()
      else break
    }
    await seen
    expect(names.filter((name) => name.startsWith('client'))).toEqual(
      [T.AddrResolved, T.RouteResolved, T.Established, T.Disconnected].map((type) => `client ${eventText(type)}`),
    )
    expect(names.filter((name) => name.startsWith('server'))[0]).toBe(`server ${eventText(T.ConnectRequest)}`)
  })

  it('for await ends when the channel closes', async () => {
    start()
    bind(t.server.createId(Tcp), 0).listen()
    const events: CmEvent[] = []
    setTimeout(() => t.server.close(), 20)
    for await (const event of t.server) events.push(event)
    expect(events.length).toBe(0)
  })

  it('getEvent waits no longer than it was told', () => {
    start()
    bind(t.server.createId(Tcp), 0).listen()
    expect(t.server.getEvent(5)).toBeUndefined()
    expect(t.client.getEvent(5)).toBeUndefined()
  })

  it('misuse throws with what to do', async () => {
    start()
    const id = t.client.createId(Tcp)
    const listener = t.listen()
    const wrong: (() => unknown)[] = [
      () => t.client.createId(5 as never),
      () => t.client.createId(Tcp, { qpType: 17 as never }),
      () => id.resolveRoute(),
      () => id.connect(),
      () => id.accept(),
      () => id.reject(),
      () => id.disconnect(),
      () => id.establish(),
      () => id.createQp(),
      () => id.destroyQp(),
      () => id.listen(-1),
      () => id.resolveAddr(undefined, { address: 'nowhere', port: 1 }),
      () => id.resolveAddr(undefined, { address: place.address, port: 70_000 }),
      () => id.resolveAddr(undefined, { address: place.address, port: 1 }, -1),
      () => id.setOption('tos', 256),
      () => id.setOption('nothing' as never, 1 as never),
      () => id.joinMulticast({ address: '239.1.1.1' }),
      () => listener.bindAddr({ address: place.address }),
      () => listener.getRequest(),
    ]
    for (const [i, action] of wrong.entries()) expect(`${i} ${code(action)}`).toBe(`${i} EINVAL`)
    const ready = await t.resolved({ address: place.address, port: listener.localAddress.port })
    const { qp } = t.end(ready)
    for (const param of [
      { privateData: new Uint8Array(57) },
      { privateData: 'text' as never },
      { retryCount: 8 },
      { rnrRetryCount: -1 },
      { responderResources: 256 },
      null as never,
    ])
      expect(code(() => ready.connect(param))).toBe('EINVAL')
    expect(code(() => ready.createQp())).toBe('EINVAL')
    expect(qp.type).toBe(QpType.RC)
    ready.close()
    expect(ready.closed).toBe(true)
    for (const action of [() => ready.connect(), () => ready.migrateId(t.server), () => ready.setOption('tos', 1)])
      expect(code(action)).toBe('EBADF')
    t.client.close()
    for (const action of [() => t.client.tryGetEvent(), () => t.client.createId(Tcp), () => t.client.close()])
      expect(code(action)).toBe('EBADF')
    expect(rdmaCmErrorCodes).toHaveProperty('EBADF')
  })

  it('a context of the program’s own, and nothing of it is left', async () => {
    const context = openDevice(place.client)
    const channel = createEventChannel({ device: context })
    const id = channel.createId(Tcp)
    id.resolveAddr(undefined, {
      address: place.client.startsWith('shm') ? '127.0.0.1' : place.client.slice(5),
      port: 1,
    })
    expect(channel.getEvent(1000)?.type).toBe(T.AddrResolved)
    expect(id.verbs === context).toBe(true)
    id.createQp()
    channel.close()
    context.close()
    start()
    const { a, b } = await t.connected()
    await talk(a, b)
  })
})

describe('roce without an address', () => {
  it('takes loopback addresses each on its own device', () => {
    const channel = createEventChannel({ device: 'roce' })
    const id = channel.createId(Tcp)
    id.bindAddr({ address: loopbackAddress(7), port: 0 })
    expect(id.verbs?.name).toBe(loopbackDevice(7))
    const other = channel.createId(Tcp)
    other.resolveAddr(undefined, { address: loopbackAddress(8), port: 1 })
    // The kernel's own source for it, which TCP has, too.
    expect(other.localAddress.address).toBe('127.0.0.1')
    channel.close()
  })

  it('is what an empty VERBENA_DEVICE stands for, for rsockets too', () => {
    vi.stubEnv('VERBENA_DEVICE', '')
    const channel = createEventChannel()
    const id = channel.createId(Tcp)
    id.bindAddr({ address: loopbackAddress(7), port: 0 })
    expect(id.verbs?.name).toBe(loopbackDevice(7))
    const socket = rsocket(AF_INET, SOCK_STREAM)
    expect(socket.bind({ address: loopbackAddress(7), port: 0 })).toBe(0)
    socket.close()
    channel.close()
    vi.unstubAllEnvs()
  })
})

describe('an id without a channel', () => {
  it('throws for what an event would tell, with the event', () => {
    const id = createId(Tcp, { device: 'shm0' })
    id.resolveAddr(undefined, { address: '127.0.0.1', port: 9 })
    expect(id.event?.type).toBe(T.AddrResolved)
    id.resolveRoute()
    id.createQp()
    try {
      id.connect()
      expect.fail('it connected')
    } catch (error) {
      expect(error).toBeInstanceOf(RdmaCmError)
      expect((error as RdmaCmError).code).toBe('ECONNREFUSED')
      expect((error as RdmaCmError).event?.type).toBe(T.Rejected)
    }
    id.close()
    const nowhere = createId(Tcp, { device: 'shm0' })
    expect(code(() => nowhere.resolveAddr(undefined, { address: '192.0.2.1', port: 9 }))).toBe('ENODEV')
    nowhere.close()
  })
})
