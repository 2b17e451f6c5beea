/**
 * What the responder of RC does, as a table: what is arriving × where the PSN stands × kind of packet. Each entry says what
 * is sent, the state of the QP, and what is counted.
 */
import { expect, it } from 'vitest'
import { nameOf, QpState } from '../../src/index.ts'
import { bytes, mtu, type Packet, type Script, textOf, theirs, withScript } from './script.ts'

const packets = (s: Script): Record<string, Omit<Packet, 'psn'>> => ({
  'SEND first': { op: 'RcSendFirst', payload: bytes(mtu) },
  'SEND middle': { op: 'RcSendMiddle', payload: bytes(mtu) },
  'SEND last': { op: 'RcSendLast', payload: bytes(4) },
  'SEND only': { op: 'RcSendOnly', payload: bytes(4) },
  'WRITE first': { op: 'RcWriteFirst', ...s.reth({ length: mtu * 2 + 4 }), payload: bytes(mtu) },
  'WRITE middle': { op: 'RcWriteMiddle', payload: bytes(mtu) },
  'WRITE last': { op: 'RcWriteLast', payload: bytes(4) },
  'WRITE only': { op: 'RcWriteOnly', ...s.reth({ length: 4 }), payload: bytes(4) },
  'WRITE only with immediate': {
    op: 'RcWriteOnlyWithImm',
    ...s.reth({ length: 4 }),
    immDt: { data: 1 },
    payload: bytes(4),
  },
  READ: { op: 'RcReadRequest', ...s.reth({ length: 4 }) },
  'FETCH ADD': { op: 'RcFetchAdd', ...s.atomicEth(1n) },
  'ATOMIC WRITE': { op: 'RcAtomicWrite', ...s.reth({ length: 8 }), payload: bytes(8) },
  FLUSH: { op: 'RcFlush', feth: { placement: 1, selectivity: 0 }, ...s.reth({ length: 8 }) },
})

/** How the QP gets into each state, and the PSN that it expects then. */
const states: Record<string, (s: Script) => number> = {
  'between messages': () => theirs,
  'within a SEND': (s) => {
    s.send({ op: 'RcSendFirst', psn: theirs, payload: bytes(mtu) })
    return theirs + 1
  },
  'within a WRITE': (s) => {
    s.send({ op: 'RcWriteFirst', psn: theirs, ...s.reth({ length: mtu + 4 }), payload: bytes(mtu) })
    return theirs + 1
  },
  'after a NAK': (s) => {
    s.send({ op: 'RcSendOnly', psn: theirs + 9, payload: bytes(4) })
    return theirs
  },
}

const places = { expected: 0, ahead: 2, behind: -1 }

it('state × PSN × packet', { timeout: 60_000 }, async () => {
  const table: string[] = []
  for (const [state, reach] of Object.entries(states))
    for (const [where, distance] of Object.entries(places))
      for (const name of Object.keys(packets({ reth: () => ({}), atomicEth: () => ({}) } as unknown as Script)))
        await withScript((s) => {
          for (let i = 0; i < 3; i++) s.receive(4096, i, 4096 * i)
          const expected = reach(s)
          s.take()
          const before = s.counted()
          s.send({ ...packets(s)[name]!, psn: expected + distance, ackReq: true } as Packet)
          const sent = s.take().map((seen) => textOf({ ...seen, psn: seen.psn - expected }))
          const counted = Object.entries(s.counted())
            .filter(([counter, n]) => counter !== 'rcvd_pkts' && n !== (before[counter] ?? 0))
            .map(([counter]) => counter)
          const now = nameOf(QpState, s.end.qp.state)
          table.push(`${state}, ${where}: ${name} → ${sent.join(', ') || 'silence'}; ${now}; ${counted.join(', ')}`)
        })
  expect(table.join('\n')).toMatchSnapshot()
})
