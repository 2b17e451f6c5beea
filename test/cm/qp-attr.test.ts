/** The attributes of a QP that the messages give: those that `qp.modify` requires, and none that it does not take. */
import { describe, expect, test } from 'vitest'
import type { CmConnection } from '../../src/cm/ib/index.ts'
import { Access, QpState, QpType } from '../../src/verbs/index.ts'
import { checkTransition, type QpAttrName } from '../../src/verbs/provider/qp-state.ts'
import { cmPath } from '../../src/wire/index.ts'
import { ourQpn, reqParams, Script, theirGid, theirQpn } from './script.ts'

const { Reset, Init, Rtr, Rts } = QpState
const place = { port: 1, pkeyIndex: 0, sgidIndex: 2 }

function expectAllowed(s: Script, c: CmConnection<string>): void {
  for (const [from, to] of [[Reset, Init] as const, [Init, Rtr] as const, [Rtr, Rts] as const]) {
    const { state, ...attr } = s.cm.qpAttr(c, to, place)
    expect(state).toBe(to)
    expect(checkTransition(c.qpType, from, to, Object.keys(attr) as QpAttrName[])).toBeNull()
  }
}

test('RC, passive', () => {
  const s = new Script()
  const c = s.reqRcvd()
  s.cm.sendRep(c, { qpNum: ourQpn, startingPsn: 8, responderResources: 2 }, 0)
  expectAllowed(s, c)
  expect(s.cm.qpAttr(c, Init, place)).toEqual({
    state: Init,
    port: 1,
    pkeyIndex: 0,
    accessFlags: Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic,
  })
  expect(s.cm.qpAttr(c, Rtr, place)).toEqual({
    state: Rtr,
    ah: {
      dlid: 0,
      sl: 0,
      portNum: 1,
      grh: { dgid: theirGid, sgidIndex: 2, flowLabel: 9, hopLimit: 64, trafficClass: 0 },
    },
    pathMtu: 2048,
    destQpNum: theirQpn,
    rqPsn: 8,
    maxDestRdAtomic: 2,
    minRnrTimer: 0,
  })
  expect(s.cm.qpAttr(c, Rts, place)).toEqual({
    state: Rts,
    sqPsn: 0x333,
    timeout: 18,
    retryCnt: 6,
    rnrRetry: 5,
    maxRdAtomic: 3,
  })
})

test('RC, active', () => {
  const s = new Script()
  const c = s.repRcvd()
  expectAllowed(s, c)
  expect(s.cm.qpAttr(c, Rtr)).toMatchObject({ destQpNum: theirQpn, rqPsn: c.rqPsn, maxDestRdAtomic: 1, pathMtu: 1024 })
  // 268 ms there and back with 134 ms in the peer: nearer to 2^17 than to 2^18 times 4.096 µs.
  expect(s.cm.qpAttr(c, Rts)).toMatchObject({ timeout: 17, rnrRetry: 3, retryCnt: 7, maxRdAtomic: 2, sqPsn: 0x444 })
})

test('UC has no attributes of a reliable connection', () => {
  const s = new Script()
  const c = s.reqRcvd({ transportServiceType: 1, initiatorDepth: 0 })
  expect(c.qpType).toBe(QpType.UC)
  expectAllowed(s, c)
  expect(s.cm.qpAttr(c, Init)).toMatchObject({ accessFlags: Access.LocalWrite | Access.RemoteWrite })
})

test('with an alternate path', () => {
  const s = new Script()
  const alternate = cmPath({ localGid: theirGid, remoteGid: theirGid, localAckTimeout: 14, serviceLevel: 3 })
  const c = s.reqRcvd({ alternate })
  expectAllowed(s, c)
  expect(s.cm.qpAttr(c, Rtr, { ...place, altPort: 2, altSgidIndex: 5 })).toMatchObject({
    altAh: { portNum: 2, sl: 3, grh: { dgid: theirGid, sgidIndex: 5 } },
    altPkeyIndex: 0,
    altPort: 2,
    altTimeout: 14,
  })
})

describe('too early, or too late', () => {
  test('before the REP came', () => {
    const s = new Script()
    const c = s.reqSent()
    expect(s.cm.qpAttr(c, Init)).toMatchObject({ state: Init })
    expect(() => s.cm.qpAttr(c, Rtr)).toThrow(/not known in REQ_SENT: wait for repReceived \(ERR_CM_STATE\)/)
  })
  test('after the end, and for no connection', () => {
    const s = new Script()
    const c = s.reqSent()
    s.cm.close(c, 0)
    expect(() => s.cm.qpAttr(c, Init)).toThrow(/it is over/)
    const sidr = s.cm.sendSidrReq({ serviceId: 1n, to: reqParams.to }, 0)
    expect(() => s.cm.qpAttr(sidr, Init)).toThrow(/it is no connection/)
  })
})
