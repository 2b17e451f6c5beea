import { describe, expect, it } from 'vitest'
import { answerOf, query } from '../../src/monitor/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { deth, reth, roceFrame } from '../trace/packets.ts'
import { A, B, Traffic } from './traffic.ts'

describe('a window', () => {
  it('has what passed, by connection in both directions', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 10; psn++) {
      traffic.send(psn)
      traffic.ack(psn)
    }
    const window = traffic.end()
    const { roce, messages, payloadBytes, ecnCapable } = window.totals()
    expect({ roce, messages, payloadBytes, ecnCapable }).toEqual({
      ...{ roce: 20, messages: 10, payloadBytes: 80, ecnCapable: 20 },
    })
    // The first packets are of a time when it was not known which flows belong together.
    const { rows } = query(window, { by: 'connection', of: 'packets' })
    expect(rows.map(({ name, value }) => [name, value])).toEqual([[`${A} QP 0xa ↔ ${B} QP 0xb RC`, 20]])
    expect(query(window, { by: 'flow', of: 'messages' }).rows[0]).toMatchObject({
      ...{ value: 10, fields: { source: A, sourceQp: 0xa, destination: B, destinationQp: 0xb, service: 'RC' } },
    })
  })

  it('says of a connection that the QP of an end is not known, whichever has the lower address', () => {
    const traffic = new Traffic()
    const [low, high, group] = ['10.0.0.0', '10.0.0.9', '239.1.1.1']
    traffic.packet({ source: high, destination: B, destQp: 0xb })
    traffic.packet({ source: low, destination: B, destQp: 0xb })
    const extension = deth(0x11, 0x22)
    traffic.packet({ opcode: WireOpcode.UdSendOnly, source: low, destination: group, destQp: 0xffffff, extension })
    const { rows } = query(traffic.end(), { by: 'connection', of: 'packets' })
    expect(rows.map(({ name }) => name).sort()).toEqual([
      `${low} QP 0x22 ↔ ${group} QP 0xffffff UD`,
      `${low} QP ? ↔ ${B} QP 0xb RC`,
      `${B} QP 0xb ↔ ${high} QP ? RC`,
    ])
    expect(rows.find(({ name }) => name.includes(high))!.fields).toMatchObject({
      destination: high,
      destinationQp: null,
    })
  })

  it('counts the bytes of one key far above 2^31: of tenths of a second at 100 Gbit/s', () => {
    const traffic = new Traffic()
    const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, source: A, destination: B, destQp: 0xb, payload: 8 })
    for (let i = 0; i < 2000; i++) traffic.frame(frame, 4000, 5_000_000)
    const { rows, total } = query(traffic.end(), { by: 'qp', of: 'bytes' })
    expect(total).toBe(1e10)
    expect(rows.map(({ value }) => value)).toEqual([total])
  })

  it('has latencies of acknowledgements and of READs', () => {
    const traffic = new Traffic()
    traffic.send(0)
    traffic.ack(0, 0x1f, {}, 5000)
    traffic.read(1, 16)
    traffic.response(1, 16)
    const { latency, slowestFlows, messages } = answerOf(traffic.end())
    expect(latency.ack!.count).toBe(1)
    expect(Math.abs(latency.ack!.p50.value - 5000)).toBeLessThanOrEqual(50)
    expect(latency.read!.p50.lower).toBeLessThanOrEqual(1000)
    expect(latency.read!.p50.upper).toBeGreaterThanOrEqual(1000)
    expect(slowestFlows).toHaveLength(1)
    expect(messages.largest.map(({ operation, bytes }) => [operation, bytes])).toEqual([
      ['READ_RESPONSE', 16],
      ['SEND', 8],
    ])
  })

  it('gives the R_Key to all packets of a WRITE, and to the responses of a READ', () => {
    const traffic = new Traffic()
    traffic.send(0, { opcode: WireOpcode.RcWriteFirst, payload: 256, extension: reth(0, 0x55, 300) })
    traffic.send(1, { opcode: WireOpcode.RcWriteLast, payload: 44 })
    traffic.ack(1)
    traffic.read(2, 512, 0x66)
    traffic.response(2, 512)
    const window = traffic.end()
    const { rows } = query(window, { by: ['rkey'], of: 'packets' })
    expect(rows.map(({ fields, value }) => [fields.rkey, value])).toEqual(
      [
        [0, 1],
        [0x55, 2],
        [0x66, 2],
      ].sort((a, b) => b[1]! - a[1]!),
    )
  })

  it('has what was lost before it began', () => {
    const traffic = new Traffic()
    traffic.observer.add('unsent', 3)
    traffic.send(0)
    traffic.observer.add('dropped', 2)
    traffic.send(1, {}, 1e9)
    traffic.observer.finish()
    const counts = traffic.windows.map((window) => [window.count('unsent'), window.count('dropped')])
    expect(counts).toEqual([
      [3, 2],
      [0, 0],
    ])
  })

  it('does not believe a capture that a packet was longer than any network carries', () => {
    const traffic = new Traffic()
    traffic.send(0)
    traffic.frame(roceFrame({ opcode: WireOpcode.RcSendOnly, psn: 1, destQp: 0xb, payload: 8 }), 1000, 2 ** 32 - 1)
    const window = traffic.end()
    expect(window.count('oversized')).toBe(1)
    expect([window.count('packets'), window.count('wireBytes')]).toEqual([2, 2 ** 24 + 66])
    expect(window.sketches.bytes.total).toBe(window.count('roceBytes'))
  })
})
