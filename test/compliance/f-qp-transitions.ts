/** Case 59: every transition of the QP state machine through the public API, on live queue pairs of each type. */
import { expect } from 'vitest'
import { EventType, Opcode, QpState, QpType } from '../../src/index.ts'
import type { End } from './end.ts'
import { expectThrow, type Group } from './rig.ts'
import { type AttrName, bringFresh, goodValues, modify, stateNames, type TypeName, transitions } from './states.ts'

const types = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD } as const

export const groupFTransitions: Group = (it) => {
  for (const type of Object.keys(types) as TypeName[]) {
    // RC never enters SQE.
    const states = stateNames.filter((state) => !(type === 'RC' && state === 'Sqe'))
    for (const from of states) {
      for (const to of stateNames) {
        const transition = transitions[type][`${from} ${to}`]
        if (transition) {
          it(`59 ${type} ${from} to ${to}: what it requires, what it takes, and nothing else`, async (t) => {
            const end = t.end(0, types[type]) as End
            const { required, optional } = transition
            const all = Object.keys(goodValues(t, end)) as AttrName[]
            for (const missing of required) {
              await bringFresh(t, end, from)
              const rest = required.filter((name) => name !== missing)
              const error = expectThrow('EINVAL', () => modify(t, end, to, rest))
              expect(error.message).toContain(missing)
              end.expectState(from)
            }
            for (const extra of all.filter((name) => !required.includes(name) && !optional.includes(name))) {
              await bringFresh(t, end, from)
              expectThrow('EINVAL', () => modify(t, end, to, [...required, extra]))
              end.expectState(from)
            }
            for (const good of [[], ...optional.map((name) => [name]), optional]) {
              await bringFresh(t, end, from)
              modify(t, end, to, [...required, ...good])
              end.expectState(to)
            }
          })
        } else {
          it(`59 ${type} ${from} to ${to} is EINVAL`, async (t) => {
            const end = t.end(0, types[type]) as End
            await bringFresh(t, end, from)
            for (const attributes of [[], ...Object.values(transitions[type]).map(({ required }) => required)])
              expectThrow('EINVAL', () => modify(t, end, to, attributes))
            end.expectState(from)
          })
        }
      }
    }
  }

  it('59 values out of range are EINVAL', (t) => {
    const a = t.end(0, QpType.RC)
    const end = a as unknown as End
    const device = a.context.queryDevice()
    const { activeMtu } = a.context.queryPort(1)
    const initBad: [AttrName, unknown][] = [
      ['port', 0],
      ['port', 2],
      ['pkeyIndex', 9999],
      ['pkeyIndex', -1],
      ['accessFlags', 1 << 30],
    ]
    const rtrBad: [AttrName, unknown][] = [
      ['pathMtu', 1000],
      ['pathMtu', activeMtu * 2],
      ['rqPsn', 1 << 24],
      ['destQpNum', 1 << 24],
      ['minRnrTimer', 32],
      ['maxDestRdAtomic', device.maxQpRdAtom + 1],
      ['ah', null],
      ['ah', { grh: { dgid: new Uint8Array(3) }, portNum: 1 }],
    ]
    const rtsBad: [AttrName, unknown][] = [
      ['timeout', 32],
      ['retryCnt', 8],
      ['rnrRetry', 8],
      ['sqPsn', 1 << 24],
      ['sqPsn', -1],
      ['maxRdAtomic', device.maxQpInitRdAtom + 1],
    ]
    for (const [from, to, bad] of [
      ['Reset', 'Init', initBad],
      ['Init', 'Rtr', rtrBad],
      ['Rtr', 'Rts', rtsBad],
    ] as const) {
      const { required } = transitions.RC[`${from} ${to}`]!
      for (const [name, value] of [...bad, ...required.map((each): [AttrName, unknown] => [each, 'x'])])
        expectThrow('EINVAL', () => modify(t, end, to, required, { [name]: value }))
      modify(t, end, to, required)
    }
    for (const state of [7, -1, 0.5, 'Rts']) expectThrow('EINVAL', () => a.qp.modify({ state: state as never }))
    expectThrow('EINVAL', () => a.qp.modify({ state: QpState.Rts, curState: QpState.Sqd }))
    expectThrow('EINVAL', () => a.qp.modify({ state: QpState.Rts, noSuchAttribute: 1 } as never))
    a.expectState('Rts')
  })

  it('59 in SQD sends wait, receives go on; back in RTS the sends go out', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.qp.modify({ state: QpState.Sqd, enSqdAsyncNotify: true })
    await t.asyncEvent(a.context, EventType.SqDrained)
    a.post(Opcode.Write, b, { wrId: 5 })
    await t.expectQuiet(a.sendCq)
    a.recv(6)
    expect(await t.run(b, Opcode.Send, a)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(a.recvCq, { wrId: 6, status: 'Success' })
    a.qp.modify({ state: QpState.Rts })
    await t.expectCompletion(a.sendCq, { wrId: 5, status: 'Success' })
  })

  it('59 SQ_DRAINED comes when what was posted before is done', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.post(Opcode.Send, b, { wrId: 1 })
    a.qp.modify({ state: QpState.Sqd, enSqdAsyncNotify: true })
    a.post(Opcode.Send, b, { wrId: 2 })
    expect(await t.countAsyncEvents(a.context, EventType.SqDrained)).toBe(0)
    b.recv(1)
    b.recv(2)
    await t.asyncEvent(a.context, EventType.SqDrained)
    await t.expectCompletion(a.sendCq, { wrId: 1, status: 'Success' })
    await t.expectQuiet(a.sendCq)
    a.qp.modify({ state: QpState.Rts })
    await t.expectCompletion(a.sendCq, { wrId: 2, status: 'Success' })
  })

  for (const type of ['UC', 'UD'] as const) {
    it(`59 ${type}: an error in the send queue leads to SQE, receives go on, and RTS mends it`, async (t) => {
      const [a, b] = t.pair(types[type]) as [End, End]
      const fields = type === 'UD' ? a.datagram(t, b) : {}
      const back = type === 'UD' ? b.datagram(t, a) : {}
      const bad = [{ ...a.sge(), lkey: a.mr.lkey ^ 0x55aa00 }]
      a.recv(9, 0, 4096)
      a.post(Opcode.Send, b, { ...fields, wrId: 1, sgList: bad })
      a.post(Opcode.Send, b, { ...fields, wrId: 2 })
      await t.expectOrder(a.sendCq, [
        [1, 'LocProtErr'],
        [2, 'WrFlushErr'],
      ])
      a.expectState('Sqe')
      expect(await t.run(b, Opcode.Send, a, back)).toMatchObject({ status: 'Success' })
      await t.expectCompletion(a.recvCq, { wrId: 9, status: 'Success' })
      a.qp.modify({ state: QpState.Rts, curState: QpState.Sqe } as never)
      b.recv(3, 0, 4096)
      expect(await t.run(a, Opcode.Send, b, { ...fields, wrId: 4 })).toMatchObject({ wrId: 4, status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: 3, status: 'Success' })
    })
  }
}
