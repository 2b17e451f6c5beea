/** LAP and APR: another alternate path for a connection. */
import { expect, test } from 'vitest'
import { AprStatus, timeoutNs } from '../../src/cm/ib/index.ts'
import { cmPath } from '../../src/wire/index.ts'
import { ourGid, reqWaitNs, Script, theirGid } from './script.ts'

const alternate = { localGid: ourGid, remoteGid: theirGid, flowLabel: 5 }
const theirs = cmPath({ localGid: theirGid, remoteGid: ourGid, flowLabel: 6, localAckTimeout: 15 })

test('we propose, the peer accepts', () => {
  const s = new Script()
  const c = s.established()
  s.cm.sendLap(c, { alternate }, s.now)
  const lap = s.tookSent('LAP', { remoteQpn: c.remoteQpn, remoteCmResponseTimeout: 20 })
  expect(lap.alternate).toMatchObject({ ...alternate, localAckTimeout: 17 })
  expect(c.state).toBe('LAP_SENT')
  // An answer to something else.
  s.recvFor(c, 'APR', {}, lap.transactionId + 1n)
  expect(s.dropped).toEqual({ unexpected: 1 })
  s.recvFor(c, 'APR', { status: AprStatus.Loaded }, lap.transactionId)
  s.tookEvent('aprReceived')
  expect(c).toMatchObject({ state: 'ESTABLISHED', alternate })
  expect(s.cm.deadline()).toBe(Number.POSITIVE_INFINITY)
})

test('the peer refuses', () => {
  const s = new Script()
  const c = s.established()
  s.cm.sendLap(c, { alternate }, s.now)
  const { transactionId } = s.tookSent('LAP')
  s.recvFor(c, 'APR', { status: AprStatus.Rejected }, transactionId)
  expect(s.tookEvent('aprReceived').message.status).toBe(3)
  expect(c.alternate).toBeUndefined()
})

test('the peer does not answer; an MRA makes us wait longer', () => {
  const s = new Script()
  const c = s.established()
  s.cm.sendLap(c, { alternate }, s.now)
  const first = s.tookSent('LAP')
  s.recvFor(c, 'MRA', { messageMraed: 2, serviceTimeout: 21 })
  s.tookEvent('mraReceived')
  s.wait(timeoutNs(21) + reqWaitNs)
  for (let i = 1; i < 15; i++) {
    expect(s.tookSent('LAP')).toEqual(first)
    s.wait(reqWaitNs)
  }
  s.tookSent('LAP')
  s.wait(reqWaitNs)
  s.tookEvent('lapError')
  expect(c.state).toBe('ESTABLISHED')
})

test('the peer proposes; a repeated LAP gets the same APR again', () => {
  const s = new Script()
  const c = s.accepted()
  s.recvFor(c, 'LAP', { alternate: theirs }, 7n)
  expect(s.tookEvent('lapReceived').message.alternate).toMatchObject({ flowLabel: 6 })
  s.recvFor(c, 'LAP', { alternate: theirs }, 7n)
  s.cm.sendMra(c, {}, s.now)
  const mra = s.tookSent('MRA', { messageMraed: 2, transactionId: 7n })
  s.recvFor(c, 'LAP', { alternate: theirs }, 7n)
  expect(s.tookSent('MRA')).toEqual(mra)
  s.cm.sendApr(c, {}, s.now)
  const first = s.tookSent('APR', { status: 0, transactionId: 7n })
  expect(c.alternate).toMatchObject({ localGid: ourGid, remoteGid: theirGid, flowLabel: 6 })
  s.recvFor(c, 'LAP', { alternate: theirs }, 7n)
  expect(s.tookSent('APR')).toEqual(first)
  expect(s.cm.counters.duplicates.LAP).toBe(3)
  // Another one is a new proposal.
  s.recvFor(c, 'LAP', { alternate: theirs }, 8n)
  s.tookEvent('lapReceived')
  s.cm.sendApr(c, { status: AprStatus.Unsupported, additionalInfo: Uint8Array.of(1) }, s.now)
  s.tookSent('APR', { status: 2, additionalInfoLength: 1 })
})

test('both propose at once: the proposal of the active side counts', () => {
  const active = new Script()
  const a = active.established()
  active.cm.sendLap(a, { alternate }, 0)
  active.clear()
  active.recvFor(a, 'LAP', { alternate: theirs }, 7n)
  active.quiet()
  expect(active.dropped).toEqual({ unexpected: 1 })

  const passive = new Script()
  const p = passive.accepted()
  passive.cm.sendLap(p, { alternate }, 0)
  passive.clear()
  passive.recvFor(p, 'LAP', { alternate: theirs }, 7n)
  passive.tookEvent('lapReceived')
  passive.cm.sendApr(p, {}, 0)
  passive.tookSent('APR', { transactionId: 7n })
  expect(p.alternate).toMatchObject({ flowLabel: 6 })
})

test('a DREQ ends it in the middle, and a LAP for another QP is dropped', () => {
  const s = new Script()
  const c = s.established()
  s.recvFor(c, 'LAP', { remoteQpn: 5 })
  expect(s.dropped).toEqual({ wrongQpn: 1 })
  s.cm.sendLap(c, { alternate }, s.now)
  s.clear()
  s.recvFor(c, 'DREQ')
  s.tookEvent('dreqReceived')
  expect(s.cm.deadline()).toBe(Number.POSITIVE_INFINITY)
})
