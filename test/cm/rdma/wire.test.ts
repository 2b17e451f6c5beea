/**
 * What goes over the wire: the messages of a connection as a queue pair on QP 1 of another adapter sees them, beside those
 * that Linux sent in the captures; and Linux's messages, sent to us.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type CmEvent,
  CmEventType,
  type CmId,
  type Context,
  connectQp,
  createEventChannel,
  type EventChannel,
  Opcode,
  openDevice,
  PortSpace,
  QpState,
  QpType,
  SendFlag,
  workCompletions,
} from '../../../src/index.ts'
import { gsiQkey, gsiQpn, registerService } from '../../../src/verbs/provider/index.ts'
import {
  type CmMessage,
  CmRejReason,
  type CmReq,
  cmMessage,
  emitCm,
  gidOfIp,
  isMalformed,
  parseCm,
  parseCma,
  parseIp,
  rdmaServiceId,
} from '../../../src/wire/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { seeded } from '../../random.ts'
import { packetsOf, placesOf } from '../../wire/captures.ts'

const T = CmEventType
const grh = 40
const receives = 32

/** The messages for QP 1 of a capture. */
function capturedIn(file: string): CmMessage[] {
  return packetsOf(file).flatMap(({ frame }) => {
    const { bth, icrc } = placesOf(frame)
    if (frame[bth] !== 0x64 || frame[bth + 7] !== 1 || frame[bth + 6] !== 0 || frame[bth + 5] !== 0) return []
    const message = parseCm(frame, bth + 20, icrc)
    return isMalformed(message) ? [] : [message]
  })
}

/** A queue pair on QP 1 that somebody else than our communication manager works with. */
class Foreign {
  readonly context: Context
  readonly #pd
  readonly #cq
  readonly #buffer
  readonly #mr
  readonly qp
  readonly #ah
  readonly #wc = workCompletions(1)
  #taken = 0
  /** Sends whose completion has not been polled. */
  sending = 0

  constructor(device: string, peer: string) {
    this.context = openDevice(device)
    this.#pd = this.context.allocPd()
    this.#cq = this.context.createCq(256)
    this.#buffer = this.context.alloc(65536)
    this.#mr = this.#pd.regMr(this.#buffer, 1)
    this.qp = this.#pd.createQp({ type: QpType.GSI, sendCq: this.#cq, recvCq: this.#cq })
    connectQp(this.qp, { psn: 0 }, null)
    this.#ah = this.#pd.createAh({ portNum: 1, grh: { dgid: gidOfIp(parseIp(peer)!), hopLimit: 64 } })
    for (let i = 0; i < receives; i++) this.#post(i)
  }

  send(message: CmMessage): void {
    const bytes = new Uint8Array(256)
    emitCm(message, bytes, 0)
    this.sendBytes(bytes)
  }

  /** Whatever has come is thrown away. */
  drain(): void {
    while (this.#cq.poll(this.#wc, 1) === 1)
      if (this.#wc[0]!.wrId === 99) this.sending--
      else this.#post(this.#taken++ % receives)
  }

  #post(i: number): void {
    this.qp.postRecv({ wrId: i, sgList: [{ addr: this.#mr.addr + 1024 * i, length: 1024, lkey: this.#mr.lkey }] })
  }

  sendBytes(bytes: Uint8Array): void {
    const at = 60_000
    this.#buffer.set(bytes, at)
    this.qp.postSend({
      wrId: 99,
      opcode: Opcode.Send,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: this.#mr.addr + at, length: 256, lkey: this.#mr.lkey }],
      ah: this.#ah,
      remoteQpn: gsiQpn,
      remoteQkey: gsiQkey,
    })
    this.sending++
  }

  /** Our end repeats to this address what connections of the test before have not been answered, and that they have ended: that is passed over. */
  async next(isAwaited: (message: CmMessage) => boolean = () => true): Promise<CmMessage> {
    const end = performance.now() + 10_000
    for (;;) {
      channel.giveTime()
      if (this.#cq.poll(this.#wc, 1) === 1) {
        if (this.#wc[0]!.wrId === 99) {
          this.sending--
          continue
        }
        expect(this.#wc[0]!.srcQp).toBe(1)
        const at = 1024 * this.#taken++ + grh
        const message = parseCm(this.#buffer, at, at + 256)
        if (isMalformed(message)) throw new Error(message)
        if (message.type !== 'DREQ' && isAwaited(message)) return message
        this.#post((this.#taken - 1) % receives)
      }
      if (performance.now() > end) throw new Error('no message')
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  close(): void {
    this.qp.close()
    this.#ah.close()
    this.#mr.close()
    this.#cq.close()
    this.#pd.close()
    this.context.close()
  }
}

const [ours, theirs] = [loopbackDevice(1), loopbackDevice(2)]
const [ourAddress, theirAddress] = [loopbackAddress(1), loopbackAddress(2)]
let foreign: Foreign
let channel: EventChannel
function start(): void {
  foreign = new Foreign(theirs, ourAddress)
  channel = createEventChannel({ device: ours })
}
afterEach(() => {
  channel.close()
  foreign.close()
})

/** What a device has dropped or repeated, for whoever asks why nothing came. */
function drops(device: string): string {
  const context = openDevice(device)
  const counted = Object.entries(context.counters()).filter(([, count]) => count !== 0)
  context.close()
  return `${device}: ${counted.map((one) => one.join(' ')).join(', ')}`
}

async function event(type: CmEventType): Promise<CmEvent> {
  const end = performance.now() + 10_000
  for (;;) {
    const one = channel.tryGetEvent()
    if (one !== undefined) {
      expect(one.type).toBe(type)
      return one
    }
    if (performance.now() > end) throw new Error(`no event; ${drops(ours)}; ${drops(theirs)}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** The answer to the request of the foreign end with this number. */
async function repTo(commId: number): Promise<CmMessage & { type: 'REP' }> {
  const isAnswer = (message: CmMessage): boolean => message.type === 'REP' && message.remoteCommId === commId
  return (await foreign.next(isAnswer)) as CmMessage & { type: 'REP' }
}

async function resolved(portSpace: PortSpace, port: number): Promise<CmId> {
  const id = channel.createId(portSpace)
  id.resolveAddr(undefined, { address: theirAddress, port })
  await event(T.AddrResolved)
  id.resolveRoute()
  await event(T.RouteResolved)
  id.createQp()
  return id
}

/** Without what differs from one connection to the next. */
function comparable(req: CmReq): Partial<CmReq> {
  const own = [
    'localCommId',
    'localCaGuid',
    'localQpn',
    'startingPsn',
    'transactionId',
    'type',
    'privateData',
    'serviceId',
  ]
  const entries = Object.entries(req).filter(([name]) => !own.includes(name))
  const { localGid: _l, remoteGid: _r, flowLabel: _f, localAckTimeout: _t, ...primary } = req.primary
  return { ...Object.fromEntries(entries), primary } as Partial<CmReq>
}

describe('RC', () => {
  it('our REQ has what rping of Linux sends', async () => {
    start()
    const linux = capturedIn('rping.pcap')[0] as CmMessage & { type: 'REQ' }
    registerService(foreign.qp, linux.serviceId)
    const id = await resolved(PortSpace.Tcp, 7174)
    id.connect({ responderResources: 1, initiatorDepth: 1, flowControl: false })
    const req = (await foreign.next()) as CmMessage & { type: 'REQ' }
    expect(req.type).toBe('REQ')
    expect(req.serviceId).toBe(linux.serviceId)
    expect(comparable(req)).toEqual(comparable(linux))
    expect(req.primary.localGid).toEqual(gidOfIp(parseIp(ourAddress)!))
    expect(req.primary.remoteGid).toEqual(gidOfIp(parseIp(theirAddress)!))
    const cma = parseCma(req.privateData, 0, req.privateData.length)
    expect(cma).toEqual({
      port: id.localAddress.port,
      source: parseIp(ourAddress),
      destination: parseIp(theirAddress),
    })
  })

  it('communication IDs do not count up: one does not tell the next', async () => {
    start()
    registerService(foreign.qp, rdmaServiceId(PortSpace.Tcp, 7174))
    const serials: number[] = []
    for (let i = 0; i < 4; i++) {
      const id = await resolved(PortSpace.Tcp, 7174)
      id.connect()
      serials.push(((await foreign.next()) as CmMessage & { type: 'REQ' }).localCommId & 0x3fffff)
      id.close()
      // The REJ of the id that closes.
      await foreign.next()
    }
    const steps = serials.slice(1).map((serial, i) => serial - serials[i]!)
    expect(new Set(steps).size, serials.join(', ')).toBe(steps.length)
  })

  it('Linux’s REP makes an RTU, its DREQ a DREP, with the transaction ids that belong to them', async () => {
    start()
    const [, rep] = capturedIn('rstream.pcap') as [CmMessage, CmMessage & { type: 'REP' }]
    registerService(foreign.qp, rdmaServiceId(PortSpace.Tcp, 7471))
    const id = await resolved(PortSpace.Tcp, 7471)
    id.connect()
    const req = (await foreign.next()) as CmMessage & { type: 'REQ' }
    const { transactionId } = req
    foreign.send({ ...rep, transactionId, remoteCommId: req.localCommId, localQpn: 77 })
    const established = await event(T.Established)
    expect(established.param.privateData).toEqual(rep.privateData)
    expect(established.param).toMatchObject({ qpNum: 77, responderResources: 0, initiatorDepth: 0, flowControl: true })
    expect(await foreign.next()).toMatchObject({ type: 'RTU', transactionId, remoteCommId: rep.localCommId })
    expect(id.qp!.query().attr).toMatchObject({ destQpNum: 77, sqPsn: rep.startingPsn, rqPsn: req.startingPsn })
    const dreq = { ...(capturedIn('rstream.pcap')[3] as CmMessage & { type: 'DREQ' }) }
    const ids = { localCommId: rep.localCommId, remoteCommId: req.localCommId, remoteQpn: id.qp!.qpNum }
    foreign.send({ ...dreq, ...ids })
    await event(T.Disconnected)
    id.disconnect()
    expect(await foreign.next()).toMatchObject({ type: 'DREP', transactionId: dreq.transactionId })
  })

  it('Linux’s REQ makes a ConnectRequest, and our REP has what Linux answers', async () => {
    start()
    const [linux, answer] = capturedIn('rstream.pcap') as [CmMessage & { type: 'REQ' }, CmMessage & { type: 'REP' }]
    const listener = channel.createId(PortSpace.Tcp)
    listener.bindAddr({ port: 7471 })
    listener.listen()
    const primary = {
      ...linux.primary,
      localGid: gidOfIp(parseIp(theirAddress)!),
      remoteGid: gidOfIp(parseIp(ourAddress)!),
    }
    foreign.send({ ...linux, primary })
    const request = await event(T.ConnectRequest)
    expect(request.param.privateData).toEqual(linux.privateData.subarray(36))
    expect(request.param).toMatchObject({ qpNum: linux.localQpn, retryCount: 7, rnrRetryCount: 7, flowControl: true })
    expect(request.id.peerAddress).toMatchObject({ address: '10.77.0.3' })
    expect(request.id.localAddress).toMatchObject({ address: '10.77.0.2', port: 7471 })
    request.id.createQp()
    const { privateData } = answer
    request.id.accept({ privateData })
    const rep = await repTo(linux.localCommId)
    const own = ['localCommId', 'localQpn', 'startingPsn', 'localCaGuid', 'remoteCommId', 'transactionId']
    for (const [name, value] of Object.entries(answer))
      if (!own.includes(name)) expect([name, rep[name as keyof typeof rep]]).toEqual([name, value])
    expect(rep).toMatchObject({ remoteCommId: linux.localCommId, transactionId: linux.transactionId })
    // In RTS before the REP left.
    expect(request.id.qp!.query().attr).toMatchObject({ state: 3, destQpNum: linux.localQpn, sqPsn: linux.startingPsn })
    foreign.send({
      type: 'RTU',
      transactionId: linux.transactionId,
      localCommId: linux.localCommId,
      remoteCommId: rep.localCommId,
      privateData: new Uint8Array(224),
    })
    await event(T.Established)
  })
})

describe('UD', () => {
  it('our SIDR_REQ and SIDR_REP have what udaddy of Linux sends', async () => {
    start()
    const [linux, answer] = capturedIn('udaddy.pcap') as [
      CmMessage & { type: 'SIDR_REQ' },
      CmMessage & { type: 'SIDR_REP' },
    ]
    registerService(foreign.qp, linux.serviceId)
    const id = await resolved(PortSpace.Udp, 7174)
    id.connect()
    const request = (await foreign.next()) as CmMessage & { type: 'SIDR_REQ' }
    expect(request).toMatchObject({ type: 'SIDR_REQ', serviceId: linux.serviceId, pkey: linux.pkey })
    foreign.send({ ...answer, requestId: request.requestId, transactionId: request.transactionId })
    expect((await event(T.Established)).param).toMatchObject({ qpNum: answer.qpn, qkey: answer.qkey })
    const listener = channel.createId(PortSpace.Udp)
    listener.bindAddr({ port: 7174 })
    listener.listen()
    foreign.send(linux)
    const asked = await event(T.ConnectRequest)
    const { qpNum } = asked.id.createQp()
    asked.id.accept()
    const { transactionId, requestId } = linux
    expect(await foreign.next()).toEqual({ ...answer, transactionId, requestId, qpn: qpNum })
  })
})

describe('bad input', () => {
  it('a REQ whose header with the addresses is damaged is refused, and nothing is told', async () => {
    start()
    const linux = capturedIn('rping.pcap')[0] as CmMessage & { type: 'REQ' }
    const listener = channel.createId(PortSpace.Tcp)
    listener.bindAddr({ port: 7174 })
    listener.listen()
    const damaged = [
      [0, 1],
      [1, 0x50],
      [1, 0],
    ] as const
    for (const [i, [at, value]] of damaged.entries()) {
      foreign.send({ ...linux, localCommId: 1000 + i, privateData: linux.privateData.with(at, value) })
      const rej = (await foreign.next()) as CmMessage & { type: 'REJ' }
      expect(rej).toMatchObject({ type: 'REJ', reason: CmRejReason.InvalidServiceId, remoteCommId: 1000 + i })
    }
    expect(channel.tryGetEvent()).toBeUndefined()
    foreign.send({ ...linux, localCommId: 2000 })
    await event(T.ConnectRequest)
  })

  it('counters of the device tell why a message was dropped', async () => {
    start()
    const linux = capturedIn('rping.pcap')[0] as CmMessage & { type: 'REQ' }
    const listener = channel.createId(PortSpace.Tcp)
    listener.bindAddr({ port: 7174 })
    listener.listen()
    const context = openDevice(ours)
    const counted = (): Record<string, number> =>
      Object.fromEntries(
        Object.entries(context.counters()).filter(([name, value]) => /^cm_drops/.test(name) && value > 0),
      )
    const seen = counted()
    /** What `send` adds to the counters. */
    const adds = async (name: string, send: () => void): Promise<void> => {
      send()
      seen[name] = (seen[name] ?? 0) + 1
      await vi.waitFor(() => {
        expect(channel.tryGetEvent()).toBeUndefined()
        expect(counted()).toEqual(seen)
      }, 20_000)
    }
    foreign.send({ ...linux, localCommId: 3000 })
    const { id } = await event(T.ConnectRequest)
    id.createQp()
    id.accept()
    const rep = await repTo(3000)
    const ids = { localCommId: 3000, remoteCommId: rep.localCommId }
    foreign.send(cmMessage('RTU', rep.transactionId, ids))
    await event(T.Established)
    await adds('cm_drops_qpn', () => foreign.send(cmMessage('DREQ', 1n, { ...ids, remoteQpn: rep.localQpn ^ 1 })))
    await adds('cm_drops_unexpected', () => foreign.send(cmMessage('APR', 2n, ids)))
    await adds('cm_drops_unknown_id', () =>
      foreign.send(cmMessage('RTU', 3n, { localCommId: 3001, remoteCommId: rep.localCommId ^ 1 })),
    )
    await adds('cm_drops_malformed', () => {
      const bytes = new Uint8Array(256)
      emitCm(cmMessage('RTU', 4n, ids), bytes, 0)
      foreign.sendBytes(bytes.fill(0xff, 16, 18))
    })
    expect(id.qp!.state).toBe(QpState.Rts)
    context.close()
  })

  it('random messages to somebody who listens and is connected change nothing', async () => {
    start()
    const listener = channel.createId(PortSpace.Tcp)
    listener.bindAddr({ port: 7174 })
    listener.listen()
    const server = createEventChannel({ device: loopbackDevice(3) })
    const id = channel.createId(PortSpace.Tcp)
    const other = server.createId(PortSpace.Tcp)
    other.resolveAddr(undefined, { address: ourAddress, port: 7174 })
    server.tryGetEvent()
    other.resolveRoute()
    server.tryGetEvent()
    other.createQp()
    other.connect()
    const request = await event(T.ConnectRequest)
    request.id.createQp()
    request.id.accept()
    await event(T.Established)
    const templates = [...capturedIn('rping.pcap'), ...capturedIn('udaddy.pcap')]
    const seed = Number(process.env.VERBENA_SEED ?? Math.floor(Math.random() * 2 ** 31))
    const again = `VERBENA_SEED=${seed} npx vitest run test/cm/rdma/wire.test.ts -t random`
    const random = seeded(seed)
    for (let i = 0; i < 600; i++) {
      const bytes = new Uint8Array(256)
      emitCm(templates[Math.floor(random() * templates.length)]!, bytes, 0)
      for (let n = Math.floor(random() * 6); n >= 0; n--)
        bytes[24 + Math.floor(random() * 232)] = Math.floor(random() * 256)
      foreign.sendBytes(bytes)
      for (let told = channel.tryGetEvent(); told !== undefined; told = channel.tryGetEvent()) {
        expect(told.type, again).toBe(T.ConnectRequest)
        told.id.close()
      }
      foreign.drain()
      // On a loaded machine the thread that sends them may have to wait for its turn.
      if (i % 16 === 0 || foreign.sending > 64)
        do {
          await new Promise((resolve) => setImmediate(resolve))
          foreign.drain()
        } while (foreign.sending > 64)
    }
    expect(request.id.qp!.state, again).toBe(QpState.Rts)
    other.disconnect()
    const end = performance.now() + 10_000
    let disconnected = false
    while (!disconnected && performance.now() < end) {
      const told = channel.tryGetEvent()
      disconnected = told?.type === T.Disconnected
      if (told?.type === T.ConnectRequest) told.id.close()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(disconnected, again).toBe(true)
    id.close()
    server.close()
  })

  it('a peer with a smaller MTU is asked again with that', async () => {
    start()
    registerService(foreign.qp, rdmaServiceId(PortSpace.Tcp, 7471))
    const id = await resolved(PortSpace.Tcp, 7471)
    id.connect({ privateData: Buffer.from('again') })
    for (const pathMtu of [5, 4, 3]) {
      const req = (await foreign.next()) as CmMessage & { type: 'REQ' }
      expect(req).toMatchObject({ type: 'REQ', pathMtu, localQpn: id.qp!.qpNum })
      const fields = { remoteCommId: req.localCommId, reason: CmRejReason.InvalidPathMtu }
      if (pathMtu > 3) foreign.send(cmMessage('REJ', req.transactionId, fields))
      else {
        const rej = { ...fields, reason: CmRejReason.NoResources }
        foreign.send(cmMessage('REJ', req.transactionId, rej))
      }
    }
    expect((await event(T.Rejected)).status).toBe(CmRejReason.NoResources)
  })

  it('one that says which MTU it accepts is asked again with that', async () => {
    start()
    registerService(foreign.qp, rdmaServiceId(PortSpace.Tcp, 7471))
    const id = await resolved(PortSpace.Tcp, 7471)
    id.connect()
    // The code in four bits at the front or at the end; one that is greater than what was asked for means nothing.
    for (const [pathMtu, info] of [
      [5, 3 << 4],
      [3, 2],
      [2, 5],
    ] as const) {
      const req = (await foreign.next()) as CmMessage & { type: 'REQ' }
      expect(req).toMatchObject({ type: 'REQ', pathMtu })
      const additional = { additionalInfo: Uint8Array.of(info), additionalInfoLength: 1 }
      const ids = { remoteCommId: req.localCommId, reason: CmRejReason.InvalidPathMtu }
      foreign.send(cmMessage('REJ', req.transactionId, { ...ids, ...additional }))
    }
    expect(await foreign.next()).toMatchObject({ type: 'REQ', pathMtu: 1 })
    id.close()
  })
})
