/** Releasing a connection, TIMEWAIT, stale connections, and messages for connections that are gone. */
import { describe, expect, test } from 'vitest'
import type { CmConnection } from '../../src/cm/ib/index.ts'
import { timeoutNs } from '../../src/cm/ib/index.ts'
import { CmRejReason } from '../../src/wire/index.ts'
import { ourQpn, reqParams, reqWaitNs, Script, service, theirId, theirQpn } from './script.ts'

const sides: [string, (s: Script) => CmConnection<string>, responseNs: number, timewaitNs: number][] = [
  ['active', (s) => s.established(), reqWaitNs, timeoutNs(17)],
  ['passive', (s) => s.accepted(), timeoutNs(19), timeoutNs(18)],
]

describe.each(sides)('the %s side', (_, connect, responseNs, timewaitNs) => {
  test('sends a DREQ and gets the DREP', () => {
    const s = new Script()
    const c = connect(s)
    s.cm.sendDreq(c, { privateData: Uint8Array.of(1) }, s.now)
    s.tookSent('DREQ', { localCommId: c.localCommId, remoteCommId: theirId, remoteQpn: theirQpn })
    expect(c.state).toBe('DREQ_SENT')
    s.recvFor(c, 'DREP', { privateData: Uint8Array.of(2) })
    expect(s.tookEvent('drepReceived').message.privateData[0]).toBe(2)
    expect(c.state).toBe('TIMEWAIT')
    s.recvFor(c, 'DREP')
    s.wait(timewaitNs)
    s.tookEvent('timewaitExit')
    expect(c.state).toBe('IDLE')
    expect(s.cm.size).toBe(0)
    expect(s.cm.deadline()).toBe(Number.POSITIVE_INFINITY)
  })

  test('gets a DREQ, answers, and answers again as long as TIMEWAIT lasts', () => {
    const s = new Script()
    const c = connect(s)
    s.recvFor(c, 'DREQ', { privateData: Uint8Array.of(3) }, 0x55n)
    expect(s.tookEvent('dreqReceived').message.privateData[0]).toBe(3)
    s.recvFor(c, 'DREQ', {}, 0x55n)
    s.quiet()
    s.cm.sendDrep(c, {}, s.now)
    s.tookSent('DREP', { localCommId: c.localCommId, remoteCommId: theirId, transactionId: 0x55n })
    s.recvFor(c, 'DREQ', {}, 0x56n)
    s.tookSent('DREP', { transactionId: 0x56n })
    expect(s.cm.counters.duplicates.DREQ).toBe(2)
    s.wait(timewaitNs)
    s.tookEvent('timewaitExit')
    // Also when it is forgotten: the peer only wants to hear it.
    s.recvFor(c, 'DREQ', {}, 0x57n)
    s.tookSent('DREP', { localCommId: c.localCommId, remoteCommId: theirId, transactionId: 0x57n })
    expect(s.dropped).toEqual({ unknownId: 1 })
  })

  test('repeats the DREQ, and goes on to TIMEWAIT without an answer', () => {
    const s = new Script()
    const c = connect(s)
    s.cm.sendDreq(c, {}, s.now)
    const first = s.tookSent('DREQ')
    for (let i = 0; i < 15; i++) {
      s.wait(responseNs)
      expect(s.tookSent('DREQ')).toEqual(first)
    }
    s.wait(responseNs)
    s.tookEvent('dreqError')
    s.wait(timewaitNs)
    s.tookEvent('timewaitExit')
  })

  test('both send a DREQ at once', () => {
    const s = new Script()
    const c = connect(s)
    s.cm.sendDreq(c, {}, s.now)
    s.tookSent('DREQ')
    s.recvFor(c, 'DREQ')
    s.tookEvent('dreqReceived')
    s.cm.sendDrep(c, {}, s.now)
    s.tookSent('DREP')
    s.recvFor(c, 'DREP')
    s.wait(timewaitNs)
    s.tookEvent('timewaitExit')
  })

  test('a DREQ for another QP is dropped', () => {
    const s = new Script()
    const c = connect(s)
    s.recvFor(c, 'DREQ', { remoteQpn: 5 })
    expect(s.dropped).toEqual({ wrongQpn: 1 })
    expect(c.state).toBe('ESTABLISHED')
    s.quiet()
  })

  test('a REJ ends it', () => {
    const s = new Script()
    const c = connect(s)
    s.recvFor(c, 'REJ', { reason: CmRejReason.Timeout, messageRejected: 2 })
    s.tookEvent('rejReceived')
    expect(c.state).toBe('TIMEWAIT')
  })

  test('closing it sends the DREQ, and no event comes any more', () => {
    const s = new Script()
    const c = connect(s)
    s.cm.close(c, s.now)
    s.tookSent('DREQ')
    s.wait(responseNs)
    s.tookSent('DREQ')
    s.recvFor(c, 'DREP')
    s.wait(timewaitNs)
    s.quiet()
    expect(s.cm.size).toBe(0)
  })

  test('closing it when both do: the DREP goes out by itself', () => {
    const s = new Script()
    const c = connect(s)
    s.cm.close(c, s.now)
    s.tookSent('DREQ')
    s.recvFor(c, 'DREQ', {}, 0x99n)
    s.tookSent('DREP', { transactionId: 0x99n })
    expect(c.state).toBe('TIMEWAIT')
    s.drain()
    s.quiet()
    expect(s.cm.size).toBe(0)
  })

  test('closing it within an event', () => {
    const s = new Script()
    const c = connect(s)
    s.onEvent = ({ connection }) => s.cm.close(connection, s.now)
    s.recvFor(c, 'DREQ')
    s.tookEvent('dreqReceived')
    s.tookSent('DREP')
    s.drain()
    s.quiet()
  })
})

describe('closing in each state', () => {
  const states: [string, (s: Script) => CmConnection<string>, sent: string[], after: string][] = [
    ['REQ_RCVD', (s) => s.reqRcvd(), ['REJ'], 'ANSWERED'],
    ['REP_SENT', (s) => s.repSent(), ['REJ'], 'TIMEWAIT'],
    ['REP_RCVD', (s) => s.repRcvd(), ['REJ'], 'ANSWERED'],
    ['REQ_SENT', (s) => s.reqSent(), ['REJ'], 'IDLE'],
    ['ESTABLISHED', (s) => s.established(), ['DREQ'], 'DREQ_SENT'],
  ]
  test.each(states)('%s', (state, reach, sent, after) => {
    const s = new Script()
    const c = reach(s)
    expect(c.state).toBe(state)
    s.cm.close(c, s.now)
    expect(s.sent.map(({ type }) => type)).toEqual(sent)
    expect(c.state).toBe(after)
    s.cm.close(c, s.now)
    expect(s.sent.length).toBe(1)
    s.drain()
    expect(s.cm.size).toBe(0)
    expect(s.cm.halfOpen).toBe(0)
    expect(s.events).toEqual([])
  })
})

describe('TIMEWAIT', () => {
  const inTimewait = (s: Script): CmConnection<string> => {
    const c = s.accepted()
    s.recvFor(c, 'DREQ')
    s.cm.sendDrep(c, {}, s.now)
    s.clear()
    return c
  }

  test('its REQ, come late, is refused as stale; another one of the same QP is taken', () => {
    const s = new Script()
    const c = inTimewait(s)
    s.recvReq()
    s.tookSent('REJ', { reason: CmRejReason.StaleConnection, messageRejected: 0, remoteCommId: theirId })
    expect(s.cm.counters.rejected).toEqual({ [CmRejReason.StaleConnection]: 1 })
    s.recvReq({ localCommId: 4711 })
    expect(s.tookEvent('reqReceived').connection).not.toBe(c)
  })

  test('an id that the peer uses anew is another connection', () => {
    const s = new Script()
    const old = inTimewait(s)
    s.recvReq({ startingPsn: 99 })
    const c = s.tookEvent('reqReceived').connection
    expect(c).not.toBe(old)
    s.cm.sendRep(c, { qpNum: ourQpn }, s.now)
    s.tookSent('REP', { localCommId: c.localCommId })
    s.recvFor(c, 'RTU')
    s.tookEvent('rtuReceived')
    // The old one goes away without taking the new one's place.
    s.recvFor(old, 'DREQ')
    s.tookSent('DREP', { localCommId: old.localCommId })
    s.drain()
    s.tookEvent('timewaitExit')
    s.recvReq({ startingPsn: 99 })
    expect(s.cm.counters.duplicates.REQ).toBe(1)
    expect(c.state).toBe('ESTABLISHED')
  })

  test('a REP that is repeated after the end is refused', () => {
    const s = new Script()
    const c = s.established()
    s.recvFor(c, 'DREQ')
    s.cm.sendDrep(c, {}, s.now)
    s.clear()
    s.recvRep(c)
    s.tookSent('REJ', { reason: CmRejReason.StaleConnection, messageRejected: 1 })
  })

  test('it is never longer than the limit, whatever the peer says', () => {
    const s = new Script({ limits: { waitNs: 1e9 } })
    const c = s.reqRcvd({ localCmResponseTimeout: 31 })
    s.cm.sendRep(c, { qpNum: ourQpn }, s.now)
    s.clear()
    s.wait(1e9)
    s.tookSent('REP')
    s.recvFor(c, 'MRA', { messageMraed: 1, serviceTimeout: 31 })
    s.clear()
    s.wait(1e9)
  })
})

describe('a stale connection', () => {
  const states: [string, (s: Script) => CmConnection<string>, after: string][] = [
    ['REQ_RCVD', (s) => s.reqRcvd(), 'TIMEWAIT'],
    ['REP_SENT', (s) => s.repSent(), 'TIMEWAIT'],
    ['REP_RCVD', (s) => s.repRcvd(), 'TIMEWAIT'],
    ['ESTABLISHED', (s) => s.established(), 'DREQ_SENT'],
  ]
  // IBA 12.9.8.3.1
  test.each(states)('in %s: its peer asks again with the same QP', (state, reach, after) => {
    const s = new Script()
    const c = reach(s)
    expect(c.state).toBe(state)
    s.recvReq({ localCommId: 4711 })
    expect(s.sent.pop()).toMatchObject({ type: 'REJ', reason: CmRejReason.StaleConnection, remoteCommId: 4711 })
    s.tookEvent('staleConnection')
    expect(c.state).toBe(after)
    if (after === 'DREQ_SENT') {
      s.tookSent('DREQ')
      s.recvFor(c, 'DREP')
      s.tookEvent('drepReceived')
    }
    s.quiet()
    // The next try finds the way free.
    s.cm.listen(4n)
    s.recvReq({ localCommId: 4712, serviceId: 4n })
    s.tookEvent('reqReceived')
  })

  // IBA 12.9.8.3.1
  test('a REP names the QP of another connection', () => {
    const s = new Script()
    const old = s.established()
    const c = s.reqSent({ qpNum: 0x112 })
    s.recvRep(c, { localCommId: 4711 })
    expect(s.sent.map(({ type }) => type)).toEqual(['DREQ', 'REJ'])
    expect(s.sent[1]).toMatchObject({ reason: CmRejReason.StaleConnection, messageRejected: 1, remoteCommId: 4711 })
    s.tookEvent('staleConnection')
    expect(old.state).toBe('DREQ_SENT')
    expect(c.state).toBe('REQ_SENT')
  })

  test('a REP names the id of another connection', () => {
    const s = new Script()
    const old = s.established()
    const c = s.reqSent({ qpNum: 0x112 })
    s.recvRep(c, { localQpn: 0x999 })
    s.tookSent('REJ', { reason: CmRejReason.DuplicateLocalCommId, messageRejected: 1 })
    expect(old.state).toBe('ESTABLISHED')
    expect(c.state).toBe('REQ_SENT')
  })

  test('connections within one adapter are not taken for each other', () => {
    const s = new Script()
    s.cm.listen(service)
    const active = s.reqSent()
    s.recvReq({
      localCommId: active.localCommId,
      localCaGuid: 0x1111n,
      localQpn: reqParams.qpNum,
      startingPsn: active.rqPsn,
    })
    const passive = s.tookEvent('reqReceived').connection
    s.cm.sendRep(passive, { qpNum: 0x112 }, s.now)
    s.tookSent('REP')
    const fields = { localCaGuid: 0x1111n, localCommId: passive.localCommId, localQpn: 0x112 }
    s.recv('REP', { ...fields, remoteCommId: active.localCommId })
    s.tookEvent('repReceived')
    s.cm.sendRtu(active, {}, s.now)
    s.tookSent('RTU')
    s.recv('RTU', { localCommId: active.localCommId, remoteCommId: passive.localCommId })
    s.tookEvent('rtuReceived')
    expect([active.state, passive.state]).toEqual(['ESTABLISHED', 'ESTABLISHED'])
  })
})

test('messages for connections that nobody knows', () => {
  const s = new Script()
  const ids = { localCommId: 5, remoteCommId: 6 }
  for (const type of ['RTU', 'DREP', 'MRA', 'APR', 'REJ'] as const) s.recv(type, ids)
  s.recv('SIDR_REP', { requestId: 6 })
  s.quiet()
  expect(s.dropped).toEqual({ unknownId: 6 })
  s.recv('REP', ids)
  s.tookSent('REJ', { reason: CmRejReason.InvalidCommId, localCommId: 6, remoteCommId: 5 })
  s.recv('LAP', ids)
  s.tookSent('APR', { status: 1, localCommId: 6, remoteCommId: 5 })
  // The right id with another peer's is no better.
  const c = s.established()
  s.recvFor(c, 'REJ', { localCommId: 5, reason: 28, messageRejected: 2 })
  s.recvFor(c, 'DREP', { localCommId: 5 })
  s.quiet()
  s.recvFor(c, 'DREQ', { localCommId: 5 })
  s.tookSent('DREP', { localCommId: c.localCommId, remoteCommId: 5 })
  s.recvRep(c, { localCommId: 5 })
  s.tookSent('REJ', { reason: CmRejReason.InvalidCommId, remoteCommId: 5 })
  expect(c.state).toBe('ESTABLISHED')
})
