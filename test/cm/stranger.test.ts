/** Who is not the peer of a connection does not end it, delay it or change it, whatever it knows of it and says. */
import { describe, expect, test } from 'vitest'
import type { CmConnection } from '../../src/cm/ib/index.ts'
import { type CmBodies, CmRejReason, cmPath } from '../../src/wire/index.ts'
import { ourGid, ourQpn, Script, service, theirGid, theirGuid, theirId, theirQpn } from './script.ts'

const from = 'stranger'
/** The additional information of a REJ for a timeout: the GUID of the peer. */
const guid = Uint8Array.from([0, 0, 0, 0, 0, 0, 0x22, 0x22])

const states: Record<string, (s: Script) => CmConnection<string>> = {
  REQ_SENT: (s) => s.reqSent(),
  REP_RCVD: (s) => s.repRcvd(),
  REQ_RCVD: (s) => s.reqRcvd(),
  REP_SENT: (s) => s.repSent(),
  'ESTABLISHED, active': (s) => s.established(),
  'ESTABLISHED, passive': (s) => s.accepted(),
  DREQ_SENT: (s) => {
    const c = s.established()
    s.cm.sendDreq(c, {}, 0)
    s.clear()
    return c
  },
  LAP_SENT: (s) => {
    const c = s.established()
    s.cm.sendLap(c, { alternate: { localGid: ourGid, remoteGid: theirGid } }, 0)
    s.clear()
    return c
  },
}

describe.each(Object.entries(states))('%s', (_name, enter) => {
  const messages: [string, (s: Script, c: CmConnection<string>, ids: object) => void][] = [
    ['REP', (s, _c, ids) => s.recv('REP', { ...ids, localCaGuid: theirGuid, localQpn: theirQpn }, { from })],
    ['RTU', (s, _c, ids) => s.recv('RTU', ids, { from })],
    ['DREP', (s, _c, ids) => s.recv('DREP', ids, { from })],
    ['DREQ', (s, c, ids) => s.recv('DREQ', { ...ids, remoteQpn: c.localQpn }, { from })],
    ['LAP', (s, c, ids) => s.recv('LAP', { ...ids, remoteQpn: c.localQpn }, { from })],
    ['APR', (s, _c, ids) => s.recv('APR', ids, { from })],
    ...[0, 1, 2].map((messageMraed): (typeof messages)[number] => [
      `MRA of ${messageMraed}`,
      (s, _c, ids) => s.recv('MRA', { ...ids, messageMraed, serviceTimeout: 31 }, { from }),
    ]),
    ...[0, 1, 2].map((messageRejected): (typeof messages)[number] => [
      `REJ of ${messageRejected}`,
      (s, _c, ids) => s.recv('REJ', { ...ids, messageRejected, reason: CmRejReason.ConsumerReject }, { from }),
    ]),
    [
      'REJ by GUID',
      (s) => {
        const additional = { additionalInfo: guid, additionalInfoLength: 8 }
        s.recv(
          'REJ',
          { localCommId: theirId, messageRejected: 2, reason: CmRejReason.Timeout, ...additional },
          { from },
        )
      },
    ],
  ]
  test.each(messages)('a %s with the right ids changes nothing and is counted', (_type, send) => {
    const s = new Script()
    const c = enter(s)
    const before = structuredClone({ ...c, listener: undefined })
    send(s, c, { localCommId: theirId, remoteCommId: c.localCommId })
    expect(structuredClone({ ...c, listener: undefined })).toEqual(before)
    s.quiet()
    const { foreignSource = 0, unknownId = 0 } = s.dropped
    expect(foreignSource + unknownId).toBe(1)
  })
})

test('a REQ that names the GUID, QP number and id of a connection does not end it, nor is it taken for a repetition', () => {
  const s = new Script()
  const c = s.accepted()
  s.recvReq({}, { from })
  const { connection } = s.tookEvent('reqReceived')
  expect(connection).not.toBe(c)
  expect(c.state).toBe('ESTABLISHED')
  s.quiet()
})

test('a REP from another than the one that was asked is dropped, and that one is still heard', () => {
  const s = new Script()
  const c = s.reqSent()
  s.recv('REP', { localCommId: 5, remoteCommId: c.localCommId, localCaGuid: 9n, localQpn: 77 }, { from })
  expect(s.dropped).toEqual({ foreignSource: 1 })
  s.recvRep(c)
  s.tookEvent('repReceived')
  expect(c.remoteQpn).toBe(theirQpn)
})

test('a SIDR_REP from another than the one that was asked is dropped', () => {
  const s = new Script()
  const c = s.cm.sendSidrReq({ serviceId: service, to: 'peer' }, 0)
  s.clear()
  s.recv('SIDR_REP', { requestId: c.localCommId, qpn: 666, qkey: 1 }, { from })
  s.quiet()
  expect(s.dropped).toEqual({ foreignSource: 1 })
  s.recv('SIDR_REP', { requestId: c.localCommId, qpn: 7, qkey: 1 })
  s.tookEvent('sidrRepReceived')
})

test('a connection that stands is not ended by a REJ that knows the GUID and one id only, even from its peer', () => {
  const s = new Script()
  const c = s.accepted()
  const rej: Partial<CmBodies['REJ']> = { messageRejected: 2, reason: CmRejReason.Timeout }
  s.recv('REJ', { ...rej, localCommId: theirId, additionalInfo: guid, additionalInfoLength: 8 })
  expect(c.state).toBe('ESTABLISHED')
  expect(s.dropped).toEqual({ unexpected: 1 })
  s.recvFor(c, 'REJ', rej)
  expect(c.state).toBe('TIMEWAIT')
})

test('a peer may use any address that is on the primary or the alternate path', () => {
  const paths: Record<string, Uint8Array> = { one: theirGid, two: Uint8Array.from(theirGid).fill(9, 15) }
  const alternate = cmPath({ localGid: paths.two!, remoteGid: ourGid })
  const addressOnPath = (address: string, { remoteGid }: { remoteGid: Uint8Array }): boolean =>
    Buffer.compare(paths[address] ?? new Uint8Array(), remoteGid) === 0
  for (const address of ['one', 'two', 'peer']) {
    const s = new Script({ addressOnPath })
    const c = s.reqRcvd({ alternate })
    s.cm.sendRep(c, { qpNum: ourQpn }, 0)
    s.clear()
    s.recv('RTU', { localCommId: theirId, remoteCommId: c.localCommId }, { from })
    expect(c.state).toBe('REP_SENT')
    s.recv('RTU', { localCommId: theirId, remoteCommId: c.localCommId }, { from: address })
    expect(c.state).toBe('ESTABLISHED')
  }
})
