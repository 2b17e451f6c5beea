/** Which listener a REQ reaches, which is refused at once, and misuse of the calls. */
import { describe, expect, test } from 'vitest'
import { QpType } from '../../src/verbs/index.ts'
import { CmRejReason } from '../../src/wire/index.ts'
import { reqParams, Script, service, theirId, theirTid } from './script.ts'

// IBA 12.6.7.2
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
    const s = new Script({
      check: ({ pkey }) => (pkey === 0xffff ? undefined : { reason: CmRejReason.InvalidPrimaryRemoteGid }),
    })
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

test('a request for a service that others listen to is dropped, for them to get its repetition', () => {
  let others = true
  const s = new Script({ servedByOthers: (serviceId) => others && serviceId === service })
  s.recvReq({})
  s.recv('SIDR_REQ', { requestId: 5, serviceId: service })
  expect(s.dropped).toEqual({ servedByOthers: 2 })
  others = false
  s.recvReq({})
  s.tookSent('REJ', { reason: CmRejReason.InvalidServiceId })
  others = true
  s.cm.listen(service)
  s.recvReq({})
  s.tookEvent('reqReceived')
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
  })
})
