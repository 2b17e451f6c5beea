/** Establishing a connection: each message in each state, active and passive. */
import { describe, expect, test } from 'vitest'
import { timeoutNs } from '../../src/cm/ib/index.ts'
import { QpType } from '../../src/verbs/index.ts'
import { CmRejReason, cmPath } from '../../src/wire/index.ts'
import {
  ourGid,
  ourGuid,
  ourQpn,
  req,
  reqParams,
  reqWaitNs,
  Script,
  service,
  theirGid,
  theirGuid,
  theirId,
  theirQpn,
  theirTid,
} from './script.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

describe('the active side', () => {
  test('REQ, REP, RTU', () => {
    const s = new Script()
    const privateData = bytes(1, 2, 3)
    const c = s.cm.sendReq({ ...reqParams, startingPsn: 7, privateData, context: 'mine' }, s.now)
    const sent = s.tookSent('REQ', {
      localCommId: c.localCommId,
      serviceId: service,
      localCaGuid: ourGuid,
      localQpn: ourQpn,
      responderResources: 4,
      initiatorDepth: 2,
      startingPsn: 7,
      remoteCmResponseTimeout: 20,
      localCmResponseTimeout: 20,
      maxCmRetries: 15,
      retryCount: 7,
      rnrRetryCount: 7,
      pathMtu: 3,
      pkey: 0xffff,
      transportServiceType: 0,
    })
    expect(sent.primary).toEqual(cmPath({ localGid: ourGid, remoteGid: theirGid, hopLimit: 64, localAckTimeout: 17 }))
    expect(sent.privateData).toEqual(bytes(1, 2, 3, ...new Uint8Array(89)))
    expect(c).toMatchObject({ state: 'REQ_SENT', active: true, context: 'mine', remoteCommId: 0, remoteQpn: 0 })

    s.recvRep(c, { privateData: bytes(9) })
    expect(s.tookEvent('repReceived').message.privateData.subarray(0, 2)).toEqual(bytes(9, 0))
    expect(c).toMatchObject({
      state: 'REP_RCVD',
      remoteCommId: theirId,
      remoteCaGuid: theirGuid,
      remoteQpn: theirQpn,
      sqPsn: 7,
      rqPsn: 0x444,
      rnrRetryCount: 3,
      // What it asked for, at most.
      initiatorDepth: 2,
      responderResources: 1,
    })
    expect(s.cm.deadline()).toBe(Number.POSITIVE_INFINITY)

    s.cm.sendRtu(c, { privateData: bytes(5) }, s.now)
    s.tookSent('RTU', { localCommId: c.localCommId, remoteCommId: theirId, transactionId: sent.transactionId })
    expect(c.state).toBe('ESTABLISHED')
    s.quiet()
  })

  test('a REP that is repeated gets the same RTU again', () => {
    const s = new Script()
    const c = s.repRcvd()
    s.recvRep(c)
    s.quiet()
    s.cm.sendRtu(c, { privateData: bytes(5) }, s.now)
    const first = s.tookSent('RTU')
    s.recvRep(c)
    expect(s.tookSent('RTU')).toEqual(first)
    expect(s.cm.counters.duplicates.REP).toBe(2)
    s.quiet()
  })

  test('the REQ is repeated, and then given up with a REJ', () => {
    const s = new Script()
    const c = s.cm.sendReq({ ...reqParams, maxCmRetries: 2 }, s.now)
    const first = s.tookSent('REQ')
    for (let i = 0; i < 2; i++) {
      s.wait(reqWaitNs)
      expect(s.tookSent('REQ')).toEqual(first)
    }
    s.wait(reqWaitNs)
    s.tookEvent('reqError')
    const rej = s.tookSent('REJ', { reason: CmRejReason.Timeout, localCommId: c.localCommId, additionalInfoLength: 8 })
    expect(rej.additionalInfo.subarray(0, 8)).toEqual(bytes(0, 0, 0, 0, 0, 0, 0x11, 0x11))
    expect(c.state).toBe('IDLE')
    expect(s.cm.size).toBe(0)
    expect(s.cm.counters).toMatchObject({ expired: 1, retried: { REQ: 2 }, sent: { REQ: 3, REJ: 1 } })
  })

  test('an MRA makes it wait longer', () => {
    const s = new Script()
    const c = s.reqSent()
    s.recvFor(c, 'MRA', { messageMraed: 0, serviceTimeout: 22 })
    expect(s.tookEvent('mraReceived').message.serviceTimeout).toBe(22)
    expect(c.state).toBe('MRA_REQ_RCVD')
    s.now += 1000
    s.recvFor(c, 'MRA', { messageMraed: 0, serviceTimeout: 21 })
    s.wait(timeoutNs(21) + reqWaitNs)
    s.tookSent('REQ')
    s.recvRep(c)
    s.tookEvent('repReceived')
  })

  test('an MRA about something else is dropped', () => {
    const s = new Script()
    const c = s.reqSent()
    for (const messageMraed of [1, 2, 3]) s.recvFor(c, 'MRA', { messageMraed })
    expect(s.dropped).toEqual({ unexpected: 3 })
    expect(c.state).toBe('REQ_SENT')
  })

  test.each(Object.entries(CmRejReason))('REJ with reason %s', (_, reason) => {
    const s = new Script()
    const c = s.reqSent()
    // Who refuses a REQ has no id for it.
    s.recv('REJ', { remoteCommId: c.localCommId, reason, messageRejected: 0, privateData: bytes(4) })
    expect(s.tookEvent('rejReceived').message).toMatchObject({ reason })
    expect(c.state).toBe(reason === CmRejReason.StaleConnection ? 'TIMEWAIT' : 'IDLE')
    s.drain()
    expect(s.cm.size).toBe(0)
  })

  test('it refuses the REP', () => {
    const s = new Script()
    const c = s.repRcvd()
    s.cm.sendRej(c, { privateData: bytes(1) }, s.now)
    const first = s.tookSent('REJ', { reason: CmRejReason.ConsumerReject, messageRejected: 1, remoteCommId: theirId })
    s.recvRep(c)
    expect(s.tookSent('REJ')).toEqual(first)
    s.drain()
    expect(s.cm.size).toBe(0)
    s.quiet()
  })

  test('it needs longer for the REP: MRA, and again when the REP is repeated', () => {
    const s = new Script()
    const c = s.repRcvd()
    s.cm.sendMra(c, { serviceTimeout: 21 }, s.now)
    const first = s.tookSent('MRA', { messageMraed: 1, serviceTimeout: 21 })
    s.recvRep(c)
    expect(s.tookSent('MRA')).toEqual(first)
    s.cm.sendRtu(c, {}, s.now)
    s.tookSent('RTU')
    expect(c.state).toBe('ESTABLISHED')
  })

  test('an MRA only when the REP is repeated', () => {
    const s = new Script()
    const c = s.repRcvd()
    s.cm.sendMra(c, { whenRepeated: true }, s.now)
    s.quiet()
    s.recvRep(c)
    s.tookSent('MRA', { messageMraed: 1, serviceTimeout: 24 })
  })

  test('closing it before the REP came', () => {
    const s = new Script()
    const c = s.reqSent()
    s.cm.close(c, s.now)
    s.tookSent('REJ', { reason: CmRejReason.Timeout })
    expect(s.cm.size).toBe(0)
    // A REP that comes too late is told that nobody waits for it.
    s.recv('REP', { localCommId: theirId, remoteCommId: c.localCommId })
    s.tookSent('REJ', {
      reason: CmRejReason.InvalidCommId,
      messageRejected: 1,
      localCommId: c.localCommId,
      remoteCommId: theirId,
      transactionId: theirTid,
    })
    expect(s.dropped).toEqual({ unknownId: 1 })
  })

  test('a REP with a QP number that is none is dropped', () => {
    const s = new Script()
    const c = s.reqSent()
    s.recvRep(c, { localQpn: 1 })
    expect(s.dropped).toEqual({ wrongQpn: 1 })
    expect(c.state).toBe('REQ_SENT')
    s.quiet()
  })

  test('UC', () => {
    const s = new Script()
    s.cm.sendReq({ ...reqParams, qpType: QpType.UC }, s.now)
    s.tookSent('REQ', { transportServiceType: 1 })
  })
})

describe('the passive side', () => {
  test('REQ, REP, RTU', () => {
    const s = new Script()
    const listener = s.cm.listen(service, { context: 'the listener' })
    s.recvReq({ privateData: bytes(1, 2) })
    const event = s.tookEvent('reqReceived')
    const c = event.connection
    expect(event.message.privateData.subarray(0, 3)).toEqual(bytes(1, 2, 0))
    expect(event.listener).toBe(listener)
    expect(event.from).toBe('peer')
    expect(listener.waiting).toBe(1)
    expect(c).toMatchObject({
      state: 'REQ_RCVD',
      active: false,
      peer: 'peer',
      remoteCommId: theirId,
      remoteCaGuid: theirGuid,
      remoteQpn: theirQpn,
      rqPsn: 0x333,
      pathMtu: 4,
      retryCount: 6,
      rnrRetryCount: 5,
      responderResources: 5,
      initiatorDepth: 3,
      ackTimeout: 18,
      // As seen from here.
      primary: { localGid: ourGid, remoteGid: theirGid, flowLabel: 9 },
      alternate: undefined,
    })
    expect(s.cm.deadline()).toBe(Number.POSITIVE_INFINITY)

    s.cm.sendRep(c, { qpNum: ourQpn, startingPsn: 8, initiatorDepth: 99, privateData: bytes(6) }, s.now)
    const reply = s.tookSent('REP', {
      localCommId: c.localCommId,
      remoteCommId: theirId,
      transactionId: theirTid,
      localCaGuid: ourGuid,
      localQpn: ourQpn,
      startingPsn: 8,
      responderResources: 5,
      initiatorDepth: 3,
      targetAckDelay: 15,
      rnrRetryCount: 7,
    })
    expect(reply.privateData.subarray(0, 2)).toEqual(bytes(6, 0))
    expect(c.state).toBe('REP_SENT')

    s.recvFor(c, 'RTU', { privateData: bytes(3) })
    expect(s.tookEvent('rtuReceived').message.privateData[0]).toBe(3)
    expect(c.state).toBe('ESTABLISHED')
    expect(listener.waiting).toBe(0)
    expect(s.cm.halfOpen).toBe(0)
    s.recvFor(c, 'RTU')
    s.recvReq()
    expect(s.cm.counters.duplicates).toMatchObject({ RTU: 1, REQ: 1 })
    s.quiet()
  })

  test('a REQ that is repeated: before the answer nothing, after it the same REP', () => {
    const s = new Script()
    const c = s.reqRcvd()
    s.recvReq()
    s.quiet()
    s.cm.sendRep(c, { qpNum: ourQpn }, s.now)
    const first = s.tookSent('REP')
    s.recvReq()
    expect(s.tookSent('REP')).toEqual(first)
    expect(s.cm.counters.duplicates.REQ).toBe(2)
    expect(s.cm.size).toBe(1)
  })

  test('the REP is repeated as the REQ says, and then given up with a REJ', () => {
    const s = new Script()
    const c = s.reqRcvd({ localCmResponseTimeout: 12, maxCmRetries: 1 })
    s.cm.sendRep(c, { qpNum: ourQpn }, s.now)
    const first = s.tookSent('REP')
    s.wait(timeoutNs(12))
    expect(s.tookSent('REP')).toEqual(first)
    s.wait(timeoutNs(12))
    s.tookEvent('repError')
    s.tookSent('REJ', { reason: CmRejReason.Timeout, messageRejected: 2, remoteCommId: theirId })
    expect(c.state).toBe('TIMEWAIT')
    s.wait(timeoutNs(18))
    s.tookEvent('timewaitExit')
    expect(s.cm.size).toBe(0)
  })

  test('an MRA makes it wait longer for the RTU', () => {
    const s = new Script()
    const c = s.repSent()
    s.recvFor(c, 'MRA', { messageMraed: 1, serviceTimeout: 20 })
    s.tookEvent('mraReceived')
    expect(c.state).toBe('MRA_REP_RCVD')
    s.wait(timeoutNs(20) + timeoutNs(19))
    s.tookSent('REP')
    s.recvFor(c, 'RTU')
    s.tookEvent('rtuReceived')
  })

  test('data on the QP is as good as an RTU', () => {
    const s = new Script()
    const c = s.repSent()
    s.cm.established(c, s.now)
    s.tookEvent('userEstablished')
    expect(c.state).toBe('ESTABLISHED')
    s.cm.established(c, s.now)
    s.recvFor(c, 'RTU')
    s.quiet()
  })

  test('a DREQ before the RTU: the peer was connected already', () => {
    const s = new Script()
    const c = s.repSent()
    s.recvFor(c, 'DREQ')
    s.tookEvent('dreqReceived')
    expect(c.state).toBe('DREQ_RCVD')
  })

  test.each([0, 28, 10, 77])('it refuses with reason %i, and a repeated REQ gets the same REJ', (reason) => {
    const s = new Script()
    const c = s.reqRcvd()
    const params = { privateData: bytes(1, 2), additionalInfo: bytes(3) }
    s.cm.sendRej(c, { ...params, ...(reason === 28 ? {} : { reason }) }, s.now)
    const first = s.tookSent('REJ', { reason, messageRejected: 0, remoteCommId: theirId, additionalInfoLength: 1 })
    expect(first.privateData.subarray(0, 2)).toEqual(bytes(1, 2))
    s.recvReq()
    expect(s.tookSent('REJ')).toEqual(first)
    expect(s.cm.halfOpen).toBe(0)
    s.drain()
    expect(s.cm.size).toBe(0)
    s.quiet()
  })

  test('it needs longer for the REQ: MRA, and again when the REQ is repeated', () => {
    const s = new Script()
    const c = s.reqRcvd()
    s.cm.sendMra(c, {}, s.now)
    const first = s.tookSent('MRA', { messageMraed: 0, serviceTimeout: 24, transactionId: theirTid })
    s.recvReq()
    expect(s.tookSent('MRA')).toEqual(first)
    s.cm.sendRep(c, { qpNum: ourQpn }, s.now)
    s.tookSent('REP')
  })

  test('the peer gives up while nobody answers', () => {
    const s = new Script()
    const c = s.reqRcvd()
    const guid = bytes(0, 0, 0, 0, 0, 0, 0x22, 0x22)
    const reason = CmRejReason.Timeout
    // Its REJ names it by its GUID, as it knows no id of ours.
    s.recv('REJ', { localCommId: theirId, reason, messageRejected: 2, additionalInfo: guid, additionalInfoLength: 8 })
    s.tookEvent('rejReceived')
    expect(c.state).toBe('TIMEWAIT')
    expect(() => s.cm.sendRep(c, { qpNum: ourQpn }, s.now)).toThrow(/not in TIMEWAIT.*ERR_CM_STATE/)
  })

  test('the peer refuses the REP', () => {
    const s = new Script()
    const c = s.repSent()
    s.recvFor(c, 'REJ', { reason: CmRejReason.ConsumerReject, messageRejected: 1 })
    s.tookEvent('rejReceived')
    expect(c.state).toBe('TIMEWAIT')
  })
})

describe('a REQ that is refused at once', () => {
  test.each([
    ['nobody listens', { serviceId: 4711n }, CmRejReason.InvalidServiceId],
    ['RD', { transportServiceType: 2 }, CmRejReason.InvalidTransportServiceType],
    ['XRC', { transportServiceType: 3, extendedTransportType: 1 }, CmRejReason.InvalidTransportServiceType],
    ['MTU code 0', { pathMtu: 0 }, CmRejReason.InvalidPathMtu],
    ['MTU code 6', { pathMtu: 6 }, CmRejReason.InvalidPathMtu],
    ['QP number 1', { localQpn: 1 }, CmRejReason.UnsupportedRequest],
  ])('%s', (_, fields, reason) => {
    const s = new Script()
    s.cm.listen(service)
    s.recvReq(fields)
    s.tookSent('REJ', { reason, messageRejected: 0, localCommId: 0, remoteCommId: theirId, transactionId: theirTid })
    expect(s.cm.size).toBe(0)
    expect(s.cm.counters.rejected).toEqual({ [reason]: 1 })
  })

  test('for what the agent knows of its ports', () => {
    const s = new Script({ check: ({ pkey }) => (pkey === 0xffff ? undefined : CmRejReason.InvalidPrimaryRemoteGid) })
    s.cm.listen(service)
    s.recvReq({ pkey: 0x8001 })
    s.tookSent('REJ', { reason: CmRejReason.InvalidPrimaryRemoteGid })
    s.recvReq()
    s.tookEvent('reqReceived')
  })

  test('an id that the peer has given to another connection', () => {
    const s = new Script()
    const c = s.reqRcvd()
    s.recvReq({ localQpn: 0x999 })
    s.tookSent('REJ', { reason: CmRejReason.DuplicateLocalCommId })
    expect(c.state).toBe('REQ_RCVD')
    // The end of the old one frees it.
    s.cm.sendRej(c, {}, s.now)
    s.clear()
    s.recvReq({ localQpn: 0x999 })
    s.tookEvent('reqReceived')
  })
})

test('a listener takes what matches its mask, the exact one comes first', () => {
  const s = new Script()
  const all = s.cm.listen(0n, { mask: 0n })
  const range = s.cm.listen(0x1060000n, { mask: ~0xffffn & 0xffff_ffff_ffff_ffffn })
  const exact = s.cm.listen(service)
  const take = (serviceId: bigint, localCommId: number): unknown => {
    s.recvReq({ serviceId, localCommId, localQpn: localCommId })
    return s.tookEvent('reqReceived').listener
  }
  expect(take(service, 1001)).toBe(exact)
  // The masks are tried in the order in which they came.
  expect(take(0x1060001n, 1002)).toBe(all)
  s.cm.closeListener(all)
  expect(take(0x1060002n, 1003)).toBe(range)
  s.cm.closeListener(exact)
  expect(take(service, 1004)).toBe(range)
})

test('more than one may listen to a service if each says what is meant for it', () => {
  const s = new Script()
  const first = s.cm.listen(service, { matches: (_, from) => from === 'one' })
  expect(() => s.cm.listen(service)).toThrow(/service 0x1061c06.*ERR_CM_IN_USE/)
  const second = s.cm.listen(service, { matches: (_, from) => from === 'two' })
  s.recvReq({}, { from: 'two' })
  expect(s.tookEvent('reqReceived').listener).toBe(second)
  s.recvReq({ localCommId: 5, localQpn: 5 }, { from: 'three' })
  s.tookSent('REJ', { reason: CmRejReason.InvalidServiceId })
  s.cm.closeListener(first)
  s.cm.closeListener(second)
  s.cm.listen(service)
})

describe('misuse says what to do', () => {
  test('private data that is too long', () => {
    const s = new Script()
    const other = new Script()
    const long = new Uint8Array(225)
    const c = s.reqRcvd()
    expect(() => s.cm.sendReq({ ...reqParams, privateData: new Uint8Array(93) }, 0)).toThrow(
      'sendReq: 93 bytes of private data, a REQ has room for 92 (ERR_CM_PRIVATE_DATA)',
    )
    expect(() => s.cm.sendRep(c, { qpNum: 5, privateData: long }, 0)).toThrow(/a REP has room for 196/)
    expect(() => s.cm.sendRej(c, { privateData: long }, 0)).toThrow(/a REJ has room for 148/)
    expect(() => s.cm.sendRej(c, { additionalInfo: long }, 0)).toThrow(/at most 72 bytes, not 225.*ERR_CM_VALUE/)
    expect(() => s.cm.sendMra(c, { privateData: long }, 0)).toThrow(/an? MRA has room for 222/)
    expect(() => other.cm.sendRtu(other.repRcvd(), { privateData: long }, 0)).toThrow(/a RTU has room for 224/)
    // Nothing has changed.
    expect(c.state).toBe('REQ_RCVD')
    s.quiet()
  })

  test('values that do not fit', () => {
    const s = new Script()
    const send =
      (params: object): (() => void) =>
      () =>
        void s.cm.sendReq({ ...reqParams, ...params }, 0)
    expect(send({ pathMtu: 1024 })).toThrow('pathMtu is a code from 1 (256 bytes) to 5 (4096), not 1024')
    expect(send({ qpType: QpType.UD })).toThrow(/for UD there is sendSidrReq.*ERR_CM_VALUE/)
    expect(send({ primary: {} })).toThrow(/needs localGid and remoteGid/)
    expect(send({ retryCount: 8 })).toThrow(/retryCount.*ERR_CM_VALUE/)
    expect(send({ qpNum: -1 })).toThrow(/localQpn.*ERR_CM_VALUE/)
    expect(send({ startingPsn: 2 ** 24 })).toThrow(/startingPsn/)
    expect(() => s.cm.listen(-1n)).toThrow(/ERR_CM_VALUE/)
    expect(() => s.cm.listen(1n, { backlog: 0 })).toThrow(/backlog/)
    expect(s.cm.size).toBe(0)
  })

  test('calls that the state does not allow', () => {
    const s = new Script()
    const c = s.reqSent()
    expect(() => s.cm.sendRtu(c, {}, 0)).toThrow(
      'sendRtu: not in REQ_SENT; it is possible in REP_RCVD, MRA_REP_SENT (ERR_CM_STATE)',
    )
    expect(() => s.cm.sendRep(c, { qpNum: 5 }, 0)).toThrow(/possible in REQ_RCVD, MRA_REQ_SENT/)
    expect(() => s.cm.sendDreq(c, {}, 0)).toThrow(/ERR_CM_STATE/)
    expect(() => s.cm.sendDrep(c, {}, 0)).toThrow(/DREQ_RCVD/)
    expect(() => s.cm.sendSidrRep(c, {}, 0)).toThrow(/SIDR_REQ_RCVD/)
    expect(req.localCommId).toBe(theirId)
  })
})
