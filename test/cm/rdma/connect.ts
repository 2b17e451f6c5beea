/** Connections of the RDMA CM in one thread, on one kind of device. */
import { afterEach, expect, it } from 'vitest'
import { CmEventType, PortSpace, QpState, QpType } from '../../../src/index.ts'
import { CmRejReason } from '../../../src/wire/index.ts'
import { Pair, type Place, talk } from './rig.ts'

const T = CmEventType
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString().replace(/\0+$/, '')

export function connecting(place: Place): void {
  let t: Pair
  const start = (): Pair => {
    t = new Pair(place)
    return t
  }
  afterEach(() => t.close())

  it('connects, carries messages, and tells both sides what the other gave', async () => {
    start()
    const param = {
      privateData: Buffer.from('hello'),
      responderResources: 3,
      initiatorDepth: 2,
      retryCount: 5,
      rnrRetryCount: 6,
    }
    const answer = { privateData: Buffer.from('welcome'), responderResources: 9, initiatorDepth: 1 }
    const { a, b, listener, request, reply } = await t.connected({ param, answer })
    expect(request.listenId === listener).toBe(true)
    expect(request.param.privateData.length).toBe(56)
    expect(text(request.param.privateData)).toBe('hello')
    expect(request.param).toMatchObject({ responderResources: 2, initiatorDepth: 3, retryCount: 5, rnrRetryCount: 6 })
    expect(request.param.qpNum).toBe(a.qp.qpNum)
    expect(reply.param.privateData.length).toBe(196)
    expect(text(reply.param.privateData)).toBe('welcome')
    // Nobody gets more than the other side can serve.
    expect(reply.param).toMatchObject({ initiatorDepth: 2, responderResources: 1, qpNum: b.qp.qpNum })
    expect(a.qp.query().attr).toMatchObject({ maxRdAtomic: 2, maxDestRdAtomic: 1, retryCnt: 5, state: QpState.Rts })
    expect(b.qp.query().attr).toMatchObject({ maxRdAtomic: 1, maxDestRdAtomic: 2, state: QpState.Rts })
    expect(a.id.peerAddress).toEqual(listener.localAddress)
    expect(b.id.peerAddress).toEqual(a.id.localAddress)
    expect(b.id.localAddress).toEqual(listener.localAddress)
    await talk(a, b)
    await t.quiet(t.client, t.server)
  })

  it('disconnects from the active side', async () => {
    const { a, b } = await start().connected()
    a.id.disconnect()
    expect(a.qp.state).toBe(QpState.Err)
    await t.event(t.server, T.Disconnected)
    b.id.disconnect()
    await t.event(t.client, T.Disconnected)
    await t.event(t.client, T.TimewaitExit)
    await t.event(t.server, T.TimewaitExit)
  })

  it('disconnects from the passive side, and by closing alone', async () => {
    const { a, b } = await start().connected()
    b.close()
    await t.event(t.client, T.Disconnected)
    a.close()
    await t.quiet(t.client, t.server)
  })

  it('disconnects from both sides at once', async () => {
    const { a, b } = await start().connected()
    a.id.disconnect()
    b.id.disconnect()
    await t.event(t.client, T.Disconnected)
    await t.event(t.server, T.Disconnected)
    a.id.disconnect()
    b.id.disconnect()
    await t.event(t.client, T.TimewaitExit)
    await t.event(t.server, T.TimewaitExit)
  })

  it('rejects with private data', async () => {
    start()
    const listener = t.listen()
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port })
    const a = t.end(id)
    id.connect()
    const request = await t.event(t.server, T.ConnectRequest)
    request.id.reject(Buffer.from('not today'))
    const rejected = await t.event(t.client, T.Rejected)
    expect(rejected.status).toBe(CmRejReason.ConsumerReject)
    expect(rejected.param.privateData.length).toBe(148)
    expect(text(rejected.param.privateData)).toBe('not today')
    expect(a.qp.state).toBe(QpState.Err)
    request.id.close()
    await t.quiet(t.client, t.server)
  })

  it('a closed port is rejected with reason 8, if there is anybody to say so', async () => {
    start()
    const other = t.listen()
    const id = await t.resolved({ address: place.address, port: 9 })
    t.end(id)
    id.connect()
    expect((await t.event(t.client, T.Rejected)).status).toBe(CmRejReason.InvalidServiceId)
    other.close()
  })

  it('a request that the server closes unanswered is rejected', async () => {
    start()
    const listener = t.listen()
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port })
    t.end(id)
    id.connect()
    const request = await t.event(t.server, T.ConnectRequest)
    request.id.close()
    expect((await t.event(t.client, T.Rejected)).status).toBe(CmRejReason.ConsumerReject)
  })

  it('a server that does not answer is unreachable; its id hears of it', async () => {
    start()
    const listener = t.listen()
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port })
    t.end(id)
    id.setOption('responseTimeout', 10)
    id.setOption('maxRetries', 1)
    id.connect()
    const request = await t.event(t.server, T.ConnectRequest)
    expect((await t.event(t.client, T.Unreachable)).status).toBe(-110)
    await t.event(t.server, T.Rejected)
    // What the peer did is no exception: a server that is about to accept goes on.
    request.id.createQp()
    request.id.accept()
    await t.quiet(t.server, t.client)
    expect(() => request.id.disconnect()).not.toThrow()
  })

  it('a request that was given up before the program saw it is not told, and leaves nothing', async () => {
    start()
    const listener = t.listen()
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port })
    const a = t.end(id)
    id.connect()
    const agent = [...t.server.devices.agents][0]!
    while (agent.cm.halfOpen === 0) {
      t.server.giveTime()
      await new Promise((resolve) => setImmediate(resolve))
    }
    a.close()
    while (agent.cm.halfOpen > 0) {
      t.server.giveTime()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await t.quiet(t.server)
  })

  it('a client that gives up before the answer', async () => {
    start()
    const listener = t.listen()
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port })
    const a = t.end(id)
    id.connect()
    const request = await t.event(t.server, T.ConnectRequest)
    a.close()
    expect((await t.event(t.server, T.Rejected)).status).toBe(CmRejReason.Timeout)
    request.id.close()
  })

  it('UC connections, with a QP type for the id', async () => {
    start()
    const { a, b } = await t.connected({ portSpace: PortSpace.IpOIb, qpType: QpType.UC })
    expect([a.qp.type, b.qp.type]).toEqual([QpType.UC, QpType.UC])
    await talk(a, b)
    a.id.disconnect()
    await t.event(t.server, T.Disconnected)
    b.id.disconnect()
    await t.event(t.client, T.Disconnected)
  })

  it('a listener takes requests of its own QP type and address alone', async () => {
    start()
    const listener = t.listen(PortSpace.Tcp)
    const { port } = listener.localAddress
    const uc = await t.resolved({ address: place.address, port }, PortSpace.Tcp, QpType.UC)
    t.end(uc)
    uc.connect()
    expect((await t.event(t.client, T.Rejected)).status).toBe(CmRejReason.InvalidServiceId)
  })

  it('a wildcard listens on all addresses of the device', async () => {
    start()
    const listener = t.server.createId(PortSpace.Tcp)
    listener.bindAddr({ address: place.address.includes(':') ? '::' : '0.0.0.0' })
    listener.listen()
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port })
    const a = t.end(id)
    id.connect()
    const request = await t.event(t.server, T.ConnectRequest)
    const b = t.end(request.id)
    expect(request.id.localAddress.address).toBe(place.address)
    request.id.accept()
    await t.event(t.client, T.Established)
    await t.event(t.server, T.Established)
    await talk(a, b)
  })

  it('a queue pair that is not the id’s: ConnectResponse, establish', async () => {
    start()
    const listener = t.listen()
    const id = await t.resolved({ address: place.address, port: listener.localAddress.port })
    const context = id.verbs!
    const pd = context.allocPd()
    const cq = context.createCq(16)
    const qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
    expect(() => id.connect()).toThrow(/createQp/)
    id.connect({ qpNum: qp.qpNum })
    const request = await t.event(t.server, T.ConnectRequest)
    const b = t.end(request.id)
    request.id.accept()
    await t.event(t.client, T.ConnectResponse)
    for (const state of [QpState.Init, QpState.Rtr, QpState.Rts]) qp.modify(id.initQpAttr(state))
    id.establish()
    await t.event(t.server, T.Established)
    expect(qp.query().attr).toMatchObject({ destQpNum: b.qp.qpNum, sqPsn: b.qp.query().attr.rqPsn })
    expect(b.qp.query().attr.sqPsn).toBe(qp.query().attr.rqPsn)
    for (const object of [qp, cq, pd]) object.close()
  })

  it('more requests than the backlog wait until there is room', async () => {
    start()
    const listener = t.listen(PortSpace.Tcp, { backlog: 2 })
    const { port } = listener.localAddress
    const ids = []
    for (let i = 0; i < 3; i++) {
      const id = await t.resolved({ address: place.address, port })
      t.end(id)
      id.setOption('responseTimeout', 13)
      id.connect()
      ids.push(id)
    }
    const first = await t.event(t.server, T.ConnectRequest)
    await t.event(t.server, T.ConnectRequest)
    await t.quiet(t.server)
    first.id.reject()
    await t.event(t.client, T.Rejected)
    await t.event(t.server, T.ConnectRequest)
  })
}
