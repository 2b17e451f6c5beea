/** Establishing a connection: each message in each state, active and passive. */
import { describe, expect, test } from 'vitest'
import { timeoutNs } from '../../src/cm/ib/index.ts'
import { QpType } from '../../src/verbs/index.ts'
import { CmRejReason, cmPath } from '../../src/wire/index.ts'
import {
  ourGid,
  ourGuid,
  ourQpn,
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
      // Each end tells the other with which PSN to begin.
      rqPsn: 7,
      sqPsn: 0x444,
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
      sqPsn: 0x333,
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
    expect(s.cm.deadline()).toBe(timeoutNs(25))

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
    expect(s.cm.deadline()).toBe(Number.POSITIVE_INFINITY)
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
