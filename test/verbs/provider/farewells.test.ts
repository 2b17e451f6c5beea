/** What threads that died leave for the agents of their device, across the wrap of its number. */
import { expect, it } from 'vitest'
import { openDevice, QpType } from '../../../src/index.ts'
import { farewells, leaveFarewell, nameConnection, takeFarewell } from '../../../src/verbs/provider/farewells.ts'
import { layout } from '../../../src/verbs/provider/index.ts'

const { Dev, Meta, maxFarewells, Qp } = layout

it.each([0, 0x7fffffff - 3, -4])('each is taken once, the last ones are kept, from number %i on', (start) => {
  using context = openDevice('shm0')
  using pd = context.allocPd()
  using cq = context.createCq(4)
  using qp = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq })
  const { host, index } = context.device
  const { i32, at } = host
  const q = host.qpWord(qp.slot)
  // Without a connection, and on a device without a network, there is nothing to be said.
  expect(leaveFarewell(host, q)).toBe(false)
  nameConnection(qp, 0xfedcba98, 7)
  expect(leaveFarewell(host, q)).toBe(false)
  const transport = host.deviceWord(index) + Dev.transport
  const before = i32[transport]!
  i32[transport] = 1
  i32[at.meta + Meta.farewells] = start
  try {
    const left = maxFarewells + 3
    for (let i = 0; i < left; i++) {
      i32[q + Qp.destQpNum] = i
      expect(leaveFarewell(host, q)).toBe(true)
    }
    expect(farewells(host)).toBe((start + left) | 0)
    const taken = (other: number): number[] =>
      Array.from({ length: left }, (_, i) => takeFarewell(host, other, (start + 1 + i) | 0)?.remoteQpn ?? -1)
    expect(taken(index + 1).every((qpn) => qpn === -1)).toBe(true)
    expect(takeFarewell(host, index, (start + left) | 0)).toMatchObject({ localCommId: 0xfedcba98, remoteCommId: 7 })
    expect(taken(index)).toEqual(Array.from({ length: left }, (_, i) => (i < 3 || i === left - 1 ? -1 : i)))
    expect(taken(index).every((qpn) => qpn === -1)).toBe(true)
    nameConnection(qp, 0, 0)
    expect(leaveFarewell(host, q)).toBe(false)
  } finally {
    i32[transport] = before
  }
})
