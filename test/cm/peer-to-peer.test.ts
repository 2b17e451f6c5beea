/** Both sides are active: the GUIDs, and with equal ones the QP numbers, decide who stays it. */
import { describe, expect, test } from 'vitest'
import { CmRejReason, cmPath } from '../../src/wire/index.ts'
import { ourGid, ourGuid, ourQpn, reqParams, Script, theirId, theirQpn } from './script.ts'

const peerToPeer = true

// IBA 12.9.6
test('our GUID is the smaller: we become passive and answer with a REP', () => {
  const s = new Script()
  const c = s.reqSent({ peerToPeer, startingPsn: 5 })
  s.recvReq({ pathMtu: 2 })
  const event = s.tookEvent('reqReceived')
  expect(event.connection).toBe(c)
  expect(event.listener).toBeUndefined()
  expect(c).toMatchObject({
    state: 'REQ_RCVD',
    active: false,
    remoteCommId: theirId,
    remoteQpn: theirQpn,
    sqPsn: 0x333,
    rqPsn: 5,
    pathMtu: 2,
    responderResources: 4,
    initiatorDepth: 2,
  })
  expect(s.cm.deadline()).toBe(Number.POSITIVE_INFINITY)
  s.cm.sendRep(c, { qpNum: ourQpn }, s.now)
  s.tookSent('REP', { localCommId: c.localCommId, remoteCommId: theirId, startingPsn: 5, localQpn: ourQpn })
  // Their REQ once more, and a late answer to ours.
  s.recvReq({ pathMtu: 2 })
  s.tookSent('REP')
  s.recv('REJ', { remoteCommId: c.localCommId, reason: CmRejReason.InvalidServiceId, messageRejected: 0 })
  s.recvFor(c, 'RTU')
  s.tookEvent('rtuReceived')
  expect(c.state).toBe('ESTABLISHED')
})

test('our GUID is the greater: we stay active, and the peer gets our REQ once more', () => {
  const s = new Script({ caGuid: 0x3333n })
  const c = s.cm.sendReq({ ...reqParams, peerToPeer }, s.now)
  const first = s.tookSent('REQ')
  s.recvReq()
  expect(s.tookSent('REQ')).toEqual(first)
  expect(c).toMatchObject({ state: 'REQ_SENT', active: true, remoteQpn: 0 })
  s.recvRep(c)
  s.tookEvent('repReceived')
  s.recvReq()
  s.cm.sendRtu(c, {}, s.now)
  s.tookSent('RTU')
  s.recvReq()
  // Its refusal from the time when it had not begun, come late.
  s.recv('REJ', { remoteCommId: c.localCommId, reason: CmRejReason.InvalidServiceId })
  s.quiet()
  expect(c.state).toBe('ESTABLISHED')
  expect(s.cm.counters.duplicates.REQ).toBe(1)
})

describe('within one adapter the QP numbers are compared', () => {
  test.each([
    [ourQpn + 1, 'REQ_RCVD'],
    [ourQpn - 1, 'REQ_SENT'],
  ])('theirs is %i', (localQpn, state) => {
    const s = new Script()
    const c = s.reqSent({ peerToPeer })
    s.recvReq({ localCaGuid: ourGuid, localQpn, pathMtu: 3 })
    expect(c.state).toBe(state)
  })
})

test('our own REQ, come back, is none of a peer', () => {
  const s = new Script()
  const c = s.cm.sendReq(
    { ...reqParams, peerToPeer, primary: { ...reqParams.primary, localGid: reqParams.primary.remoteGid! } },
    0,
  )
  const { type, ...fields } = s.tookSent('REQ')
  s.recv(type, fields)
  s.tookSent('REJ', { reason: CmRejReason.InvalidServiceId })
  expect(c.state).toBe('REQ_SENT')
})

test('the peer has not begun: its REJ is no reason to give up', () => {
  const s = new Script()
  const c = s.reqSent({ peerToPeer })
  s.recv('REJ', { remoteCommId: c.localCommId, reason: CmRejReason.InvalidServiceId })
  s.quiet()
  expect(c.state).toBe('REQ_SENT')
  s.recv('REJ', { remoteCommId: c.localCommId, reason: CmRejReason.ConsumerReject })
  s.tookEvent('rejReceived')
})

test('a REQ for another service, from another place, or for somebody who is not peer to peer is refused', () => {
  const s = new Script()
  s.reqSent({ peerToPeer })
  s.reqSent({ serviceId: 5n })
  s.recvReq({ serviceId: 6n })
  s.recvReq({ serviceId: 5n })
  s.recvReq({ primary: cmPath({ localGid: ourGid, remoteGid: ourGid }) })
  expect(s.sent.map((m) => m.type === 'REJ' && m.reason)).toEqual([8, 8, 8])
})

test('a peer that wants another type of QP, or a greater MTU than we can, is refused', () => {
  const s = new Script()
  const c = s.reqSent({ peerToPeer })
  s.recvReq({ transportServiceType: 1 })
  s.tookSent('REJ', { reason: CmRejReason.InvalidTransportServiceType })
  s.recvReq({ pathMtu: 4 })
  const { additionalInfo, additionalInfoLength } = s.tookSent('REJ', { reason: CmRejReason.InvalidPathMtu })
  expect([additionalInfoLength, additionalInfo[0]! >> 4]).toEqual([1, reqParams.pathMtu])
  expect(c.state).toBe('REQ_SENT')
})
