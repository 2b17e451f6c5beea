/** Memory is bounded: by the backlog of each listener, by all requests, by all connections, and by what is kept. */
import { describe, expect, test } from 'vitest'
import { type CmConnection, Shares, SidrStatus, timeoutNs } from '../../src/cm/ib/index.ts'
import { CmRejReason } from '../../src/wire/index.ts'
import { ourQpn, Script, service } from './script.ts'

const requests = (s: Script, count: number, from = 1, source = 'peer'): CmConnection<string>[] => {
  for (let i = from; i < from + count; i++) s.recvReq({ localCommId: i, localQpn: i + 1 }, { from: source })
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
  expect(listener.waiting).toBe(2)
  // What the program does not answer ends, too.
  s.drain()
  expect(listener.waiting).toBe(0)
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

test('nothing is kept where that is the limit', () => {
  const s = new Script({ limits: { answers: 0, timewait: 0 } })
  s.cm.listen(service)
  const [rejected, accepted] = requests(s, 2)
  s.cm.sendRej(rejected!, {}, 0)
  expect(s.cm.size).toBe(1)
  s.cm.sendRep(accepted!, { qpNum: 5 }, 0)
  s.recvFor(accepted!, 'RTU', { localCommId: 2 })
  s.recvFor(accepted!, 'DREQ', { localCommId: 2, remoteQpn: 5 })
  s.cm.sendDrep(accepted!, {}, 0)
  expect(s.events.map(({ type }) => type)).toEqual(['rtuReceived', 'dreqReceived', 'timewaitExit'])
  expect(s.cm.size).toBe(0)
})

test('limits that are none throw', () => {
  expect(() => new Script({ limits: { halfOpen: -1 } })).toThrow(
    /the limit halfOpen is a whole number from 1, not -1 \(ERR_CM_VALUE\)/,
  )
  expect(() => new Script({ limits: { halfopen: 3 } as object })).toThrow(/there is no limit "halfopen"/)
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

describe('a fair share for whoever comes later', () => {
  test('the oldest request of the sender that has most makes room', () => {
    const s = new Script()
    const listener = s.cm.listen(service, { backlog: 4 })
    const [first, second] = requests(s, 6)
    expect(s.dropped).toEqual({ backlogFull: 2 })
    s.recvReq({}, { from: 'honest' })
    expect(s.events.map(({ type }) => type)).toEqual(['reqDropped', 'reqReceived'])
    expect(s.events[0]!.connection).toBe(first)
    expect(first!.state).toBe('IDLE')
    s.clear()
    requests(s, 1, 50, 'honest')
    expect(second!.state).toBe('IDLE')
    // Each has two of four: nobody takes more.
    s.recvReq({ localCommId: 60, localQpn: 60 }, { from: 'honest' })
    s.recvReq({ localCommId: 61, localQpn: 61 })
    s.quiet()
    expect(s.cm.counters.evicted).toBe(2)
    expect(listener.waiting).toBe(4)
  })

  test('one that waits for its RTU for long makes room although its sender has no more', () => {
    const s = new Script()
    s.cm.listen(service, { backlog: 2 })
    const ends = ['a', 'b'].map((source, i) => requests(s, 1, i + 1, source)[0]!)
    for (const c of ends) s.cm.sendRep(c, { qpNum: ourQpn }, s.now)
    s.clear()
    expect(requests(s, 1, 7, 'honest')).toEqual([])
    s.now = 1e9
    s.recvReq({ localCommId: 7, localQpn: 7 }, { from: 'honest' })
    s.tookSent('REJ', { reason: CmRejReason.NoResources, remoteCommId: 1 })
    expect(s.events.map(({ type }) => type)).toEqual(['reqDropped', 'reqReceived'])
    expect(ends.map(({ state }) => state)).toEqual(['TIMEWAIT', 'REP_SENT'])
    // One that waits for the program does not: that is no fault of its sender.
    s.clear()
    s.cm.close(ends[1]!, s.now)
    expect(requests(s, 1, 9, 'c').length).toBe(1)
    s.now = 9e9
    expect(requests(s, 1, 8, 'another')).toEqual([])
  })

  test('the limit of all listeners together is shared, too', () => {
    const s = new Script({ limits: { halfOpen: 4 } })
    s.cm.listen(service)
    requests(s, 6)
    expect(requests(s, 1, 9, 'honest').length).toBe(2)
    expect(s.cm.halfOpen).toBe(4)
  })

  test('kept answers and TIMEWAITs of the sender that has most end first', () => {
    const s = new Script({ limits: { answers: 3, timewait: 3 } })
    s.cm.listen(service)
    const [honest] = requests(s, 1, 1, 'honest')
    s.cm.sendRej(honest!, {}, 0)
    for (const c of requests(s, 5)) s.cm.sendRej(c, {}, 0)
    expect([...s.cm.connections()].map(({ state, peer }) => `${state} ${peer}`)).toEqual([
      'ANSWERED honest',
      'ANSWERED peer',
      'ANSWERED peer',
    ])
    for (const c of [...requests(s, 1, 20, 'honest'), ...requests(s, 5, 30)]) {
      s.cm.sendRep(c, { qpNum: ourQpn }, 0)
      s.cm.close(c, 0)
    }
    expect([...s.cm.connections()].filter(({ state }) => state === 'TIMEWAIT').map(({ peer }) => peer)).toEqual([
      'honest',
      'peer',
      'peer',
    ])
    expect(s.cm.counters.shortened).toBe(6)
  })

  test('TIMEWAITs make way for new connections', () => {
    const s = new Script({ limits: { connections: 2 } })
    s.cm.listen(service)
    for (const c of requests(s, 2)) {
      s.cm.sendRep(c, { qpNum: ourQpn }, 0)
      s.cm.close(c, 0)
    }
    expect(s.cm.size).toBe(2)
    expect(s.reqSent().state).toBe('REQ_SENT')
    expect(s.cm.size).toBe(2)
  })
})

describe('what a peer says does not make a request last', () => {
  const patient = { localCmResponseTimeout: 31, maxCmRetries: 15, remoteCmResponseTimeout: 31 }

  test('a REP that nobody answers ends after 137 s', () => {
    const s = new Script()
    const c = s.reqRcvd(patient)
    s.cm.sendRep(c, { qpNum: ourQpn }, 0)
    s.clear()
    while (c.state !== 'TIMEWAIT') s.wait(s.cm.deadline() - s.now)
    expect(s.now).toBe(timeoutNs(25))
    expect(s.events.map(({ type }) => type)).toEqual(['repError'])
  })

  test('nor does an MRA again and again', () => {
    const s = new Script()
    const c = s.reqRcvd(patient)
    s.cm.sendRep(c, { qpNum: ourQpn }, 0)
    while (c.state !== 'TIMEWAIT') {
      s.recvFor(c, 'MRA', { messageMraed: 1, serviceTimeout: 31 })
      s.wait(s.cm.deadline() - s.now)
    }
    expect(s.now).toBe(timeoutNs(25))
  })

  test('nor has a DREQ more time', () => {
    const s = new Script()
    const c = s.reqRcvd(patient)
    s.cm.sendRep(c, { qpNum: ourQpn }, 0)
    s.recvFor(c, 'RTU')
    s.cm.sendDreq(c, {}, s.now)
    while (c.state !== 'TIMEWAIT') s.wait(s.cm.deadline() - s.now)
    expect(s.now).toBe(timeoutNs(25))
  })

  test('a request that the program does not answer ends', () => {
    const s = new Script()
    const c = s.reqRcvd()
    s.wait(timeoutNs(25))
    s.tookEvent('reqDropped')
    s.tookSent('REJ', { reason: CmRejReason.Timeout })
    expect(c.state).toBe('IDLE')
  })
})

test('shares: whoever has most is found, and each gets its turn', () => {
  const shares = new Shares<number>()
  for (const [source, item] of [
    ['a', 1],
    ['a', 2],
    ['b', 3],
    ['a', 4],
    ['c', 5],
  ] as const)
    shares.add(source, item)
  expect([shares.size, shares.most, shares.countOf('a'), shares.countOf('x')]).toEqual([5, 3, 3, 0])
  expect(shares.oldestOfHeaviest()).toBe(1)
  expect(shares.takeOfHeaviest()).toBe(1)
  shares.delete('x', 1)
  shares.delete('a', 99)
  expect([shares.size, shares.most]).toEqual([4, 2])
  expect([1, 2, 3, 4, 5].map(() => shares.takeInTurn())).toEqual([2, 3, 5, 4, undefined])
  expect([shares.size, shares.most]).toEqual([0, 0])
  expect(shares.oldestOfHeaviest()).toBeUndefined()
})
