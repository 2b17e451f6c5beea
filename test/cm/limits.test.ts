/** Memory is bounded: by the backlog of each listener, by all requests, by all connections, and by what is kept. */
import { describe, expect, test } from 'vitest'
import { type CmConnection, SidrStatus } from '../../src/cm/ib/index.ts'
import { CmRejReason } from '../../src/wire/index.ts'
import { Script, service } from './script.ts'

const requests = (s: Script, count: number, from = 1): CmConnection<string>[] => {
  for (let i = from; i < from + count; i++) s.recvReq({ localCommId: i, localQpn: i + 1 })
  return s.events.splice(0).map(({ connection }) => connection)
}

test('a backlog of two', () => {
  const s = new Script()
  const listener = s.cm.listen(service, { backlog: 2 })
  const [first] = requests(s, 4)
  expect(listener.waiting).toBe(2)
  expect(s.dropped).toEqual({ backlogFull: 2 })
  s.quiet()
  // Whoever is answered makes room only when the connection stands, or is refused.
  s.cm.sendRep(first!, { qpNum: 5 }, 0)
  expect(requests(s, 1, 10)).toEqual([])
  s.recvFor(first!, 'RTU', { localCommId: 1 })
  s.clear()
  expect(requests(s, 1, 10).length).toBe(1)
  s.drain()
  expect(listener.waiting).toBe(2)
})

test('what is too much can be refused', () => {
  const s = new Script()
  s.cm.listen(service, { backlog: 1, whenFull: 'reject' })
  requests(s, 1)
  s.recvReq({ localCommId: 2, localQpn: 3 })
  s.tookSent('REJ', { reason: CmRejReason.NoResources, remoteCommId: 2 })
  s.recv('SIDR_REQ', { requestId: 3, serviceId: service })
  s.tookSent('SIDR_REP', { status: SidrStatus.NoQp, requestId: 3 })
  expect(s.dropped).toEqual({ backlogFull: 2 })
})

test('the backlog is free again however a request ends', () => {
  const s = new Script()
  const listener = s.cm.listen(service, { backlog: 3 })
  const [rejected, closed, timedOut] = requests(s, 3)
  s.cm.sendRej(rejected!, {}, 0)
  s.cm.close(closed!, 0)
  s.cm.sendRep(timedOut!, { qpNum: 5 }, 0)
  s.drain()
  expect(listener.waiting).toBe(0)
  expect(s.cm.halfOpen).toBe(0)
  expect(s.cm.size).toBe(0)
})

test('all listeners together', () => {
  const s = new Script({ limits: { halfOpen: 3 } })
  s.cm.listen(service)
  expect(requests(s, 5).length).toBe(3)
  expect(s.dropped).toEqual({ tooMany: 2 })
})

describe('all connections together', () => {
  test('requests of peers are dropped, our own calls throw', () => {
    const s = new Script({ limits: { connections: 3 } })
    s.reqSent()
    s.cm.listen(service)
    expect(requests(s, 5).length).toBe(2)
    expect(s.dropped).toEqual({ tooMany: 3 })
    expect(() => s.reqSent()).toThrow(
      /there are 3 connections: close some, or raise limits.connections \(ERR_CM_FULL\)/,
    )
  })

  test('kept answers make way', () => {
    const s = new Script({ limits: { connections: 3 } })
    s.cm.listen(service)
    for (const c of requests(s, 3)) s.cm.sendRej(c, {}, 0)
    expect(s.cm.size).toBe(3)
    expect(requests(s, 3, 10).length).toBe(3)
    expect(s.cm.size).toBe(3)
  })
})

test('kept answers have a limit of their own; the oldest goes first', () => {
  const s = new Script({ limits: { answers: 2 } })
  s.cm.listen(service)
  for (const c of requests(s, 3)) s.cm.sendRej(c, {}, 0)
  s.clear()
  expect(s.cm.size).toBe(2)
  s.recvReq({ localCommId: 3, localQpn: 4 })
  s.tookSent('REJ')
  s.recvReq({ localCommId: 1, localQpn: 2 })
  s.tookEvent('reqReceived')
})

test('ids that are in use are not given twice; without a free one a request is dropped and a call throws', () => {
  const ids = [7, 7, 0, 2 ** 33, 8]
  const s = new Script({ commIds: () => ids.shift() ?? 8 })
  expect(s.reqSent().localCommId).toBe(7)
  expect(s.reqSent().localCommId).toBe(8)
  expect(() => s.reqSent()).toThrow(/no free communication id.*ERR_CM_FULL/)
  s.cm.listen(service)
  s.recvReq()
  expect(s.dropped).toEqual({ tooMany: 1 })
})
