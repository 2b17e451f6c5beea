/** More flows than are followed at once: those that are forgotten leave nothing behind. */
import { expect, it } from 'vitest'
import { FlowState } from '../../src/monitor/flow-state.ts'
import { KeyPlace } from '../../src/monitor/key-block.ts'
import { Flow, Service } from '../../src/trace/flow.ts'
import { Analysis } from '../../src/trace/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { reth } from '../trace/packets.ts'
import { Traffic } from './traffic.ts'

it('follows connections that come and go as if each were the first', () => {
  const traffic = new Traffic({ memoryBytes: 2 ** 20 })
  const connections = 300
  for (let i = 0; i < connections; i++) {
    const [there, back] = [{ destQp: 0x1000 + i }, { destQp: 0x2000 + i }]
    const psn = (i * 7919) & 0xffffff
    traffic.send(psn, { ...there, opcode: WireOpcode.RcWriteOnly, payload: 64, extension: reth(0x1000, i + 1, 64) })
    traffic.send((psn + 1) & 0xffffff, there)
    traffic.ack((psn + 1) & 0xffffff, 0x1f, back)
  }
  const window = traffic.end()
  const of = { messages: 2 * connections, missing: 0, late: 0, retransmission: 0, restart: 0 }
  expect(window.totals()).toMatchObject(of)
  // 128 flows fit; at each end of that the half is forgotten.
  expect(window.count('forgotten')).toBeGreaterThan(2 * connections - 128)
  expect(window.sketches.ack.total).toBe(2 * connections)
  const flows = window.sketches.flows.cardinality()
  expect(flows.lower).toBeLessThanOrEqual(2 * connections)
  expect(flows.upper).toBeGreaterThanOrEqual(2 * connections)
})

it('keeps nothing of a flow in the state that another one gets', () => {
  const limits = { rings: { bytesLeft: 0 } }
  const { addresses } = new Analysis()
  addresses.intern(Uint8Array.of(10, 0, 0, 1), 0, 4)
  addresses.intern(Uint8Array.of(10, 0, 0, 2), 0, 4)
  const [one, other] = [new Flow(0, 0, 1, 5, Service.RC, 9, limits), new Flow(1, 1, 0, 6, Service.UC, -1, limits)]
  const state = new FlowState(one, addresses)
  const fields = state as unknown as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'number') fields[name] = 7
    else if (typeof value === 'boolean') fields[name] = !value
  }
  state.key.fill(7)
  state.addRead(3, 4)
  state.rates.isKnown = true
  state.place.epoch = 1
  state.renew(other, addresses)
  expect(state).toEqual(new FlowState(other, addresses))
  expect(state.place).toEqual(new KeyPlace())
  expect(state.readKey(3)).toBe(0)
})
