/** Asking for the QP of a service (UD): SIDR_REQ and SIDR_REP. */
import { expect, test } from 'vitest'
import { SidrStatus } from '../../src/cm/ib/index.ts'
import { reqWaitNs, Script, service } from './script.ts'

test('we ask and are answered', () => {
  const s = new Script()
  const c = s.cm.sendSidrReq({ serviceId: service, to: 'peer', privateData: Uint8Array.of(1), context: 'mine' }, 0)
  const request = s.tookSent('SIDR_REQ', { requestId: c.localCommId, serviceId: service, pkey: 0xffff })
  expect(c).toMatchObject({ kind: 'sidr', state: 'SIDR_REQ_SENT', context: 'mine' })
  s.wait(reqWaitNs)
  expect(s.tookSent('SIDR_REQ')).toEqual(request)
  s.recv('SIDR_REP', { requestId: c.localCommId, status: 0, qpn: 0x234, qkey: 0x1234567, serviceId: service })
  expect(s.tookEvent('sidrRepReceived').message).toMatchObject({ qpn: 0x234, qkey: 0x1234567 })
  expect(s.cm.size).toBe(0)
  s.recv('SIDR_REP', { requestId: c.localCommId })
  s.quiet()
})

test('nobody answers', () => {
  const s = new Script()
  s.cm.sendSidrReq({ serviceId: service, to: 'peer', responseNs: 2e6, maxCmRetries: 1 }, 0)
  s.tookSent('SIDR_REQ')
  s.wait(2e6)
  s.tookSent('SIDR_REQ')
  s.wait(2e6)
  s.tookEvent('sidrReqError')
  expect(s.cm.size).toBe(0)
})

test('we are asked; a repeated request gets the same answer', () => {
  const s = new Script()
  const listener = s.cm.listen(service)
  s.recv('SIDR_REQ', { requestId: 5, serviceId: service, pkey: 0xffff, privateData: Uint8Array.of(3) })
  const event = s.tookEvent('sidrReqReceived')
  expect(event.listener).toBe(listener)
  expect(event.message.privateData[0]).toBe(3)
  s.recv('SIDR_REQ', { requestId: 5, serviceId: service })
  s.quiet()
  s.cm.sendSidrRep(event.connection, { qpNum: 0x99, qkey: 0x1234567, privateData: Uint8Array.of(4) }, 0)
  const first = s.tookSent('SIDR_REP', { requestId: 5, status: 0, qpn: 0x99, qkey: 0x1234567, serviceId: service })
  s.recv('SIDR_REQ', { requestId: 5, serviceId: service })
  expect(s.tookSent('SIDR_REP')).toEqual(first)
  expect(s.cm.counters.duplicates.SIDR_REQ).toBe(2)
  expect(listener.waiting).toBe(0)
  // The same number of another sender is another request.
  s.recv('SIDR_REQ', { requestId: 5, serviceId: service }, { from: 'another' })
  s.tookEvent('sidrReqReceived')
  expect(s.cm.size).toBe(2)
  s.drain()
  // What the program does not answer ends, too.
  expect(s.cm.size).toBe(0)
})

test('refused: by us, by closing, and where nobody listens', () => {
  const s = new Script()
  s.cm.listen(service)
  s.recv('SIDR_REQ', { requestId: 5, serviceId: service })
  s.cm.sendSidrRep(s.tookEvent('sidrReqReceived').connection, { status: SidrStatus.NoQp }, 0)
  s.tookSent('SIDR_REP', { status: 3 })
  s.recv('SIDR_REQ', { requestId: 6, serviceId: service })
  s.cm.close(s.tookEvent('sidrReqReceived').connection, 0)
  s.tookSent('SIDR_REP', { status: SidrStatus.Reject, requestId: 6 })
  s.recv('SIDR_REQ', { requestId: 7, serviceId: 1n })
  s.tookSent('SIDR_REP', { status: SidrStatus.Unsupported, requestId: 7 })
  s.drain()
  expect(s.cm.size).toBe(0)
  s.quiet()
})

test('messages of a connection do not reach it', () => {
  const s = new Script()
  const c = s.cm.sendSidrReq({ serviceId: service, to: 'peer' }, 0)
  s.clear()
  for (const type of ['REP', 'RTU', 'REJ', 'DREP'] as const) s.recv(type, { remoteCommId: c.localCommId })
  expect(c.state).toBe('SIDR_REQ_SENT')
  s.cm.close(c, 0)
  expect(s.cm.size).toBe(0)
})
