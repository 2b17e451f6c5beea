/** Attributes of every transition of section 2 of the reference, and bringing a QP into a state through them. */
import { expect } from 'vitest'
import { EventType, nameOf, Opcode, type QpAttr, QpState, QpType } from '../../src/index.ts'
import { defaults, type End } from './end.ts'
import { expectSame, type Setup } from './rig.ts'

export type StateName = keyof typeof QpState
export type AttrName = Exclude<keyof QpAttr, 'state'>
export type TypeName = 'RC' | 'UC' | 'UD'

/** What a transition requires and what it takes besides; everything else is EINVAL. Written from the reference, not from the code under test. */
export interface Transition {
  required: readonly AttrName[]
  optional: readonly AttrName[]
}

const alt = ['altAh', 'altPkeyIndex', 'altPort', 'altTimeout'] as const
const address = ['ah', 'pathMtu', 'destQpNum', 'rqPsn'] as const
const initConnected = ['pkeyIndex', 'port', 'accessFlags'] as const
const initUd = ['pkeyIndex', 'port', 'qkey'] as const
const rtsUd = ['curState', 'qkey'] as const
const rtsUc = ['curState', 'accessFlags', ...alt, 'pathMigState'] as const
const rtsRc = [...rtsUc, 'minRnrTimer'] as const
const nothing: Transition = { required: [], optional: [] }
const only = (...optional: AttrName[]): Transition => ({ required: [], optional })
const needs = (required: readonly AttrName[], ...optional: AttrName[]): Transition => ({ required, optional })

const toAnyEnd: Record<string, Transition> = {
  'Init Reset': nothing,
  'Rtr Reset': nothing,
  'Rts Reset': nothing,
  'Sqd Reset': nothing,
  'Sqe Reset': nothing,
  'Err Reset': nothing,
  'Reset Reset': nothing,
  'Init Err': nothing,
  'Rtr Err': nothing,
  'Rts Err': nothing,
  'Sqd Err': nothing,
  'Sqe Err': nothing,
  'Err Err': nothing,
}

/** By type and `'From To'`. */
export const transitions: Record<TypeName, Readonly<Record<string, Transition>>> = {
  RC: {
    ...toAnyEnd,
    'Reset Init': needs(initConnected),
    'Init Init': only(...initConnected),
    'Init Rtr': needs([...address, 'maxDestRdAtomic', 'minRnrTimer'], ...alt, 'accessFlags', 'pkeyIndex'),
    'Rtr Rts': needs(['timeout', 'retryCnt', 'rnrRetry', 'sqPsn', 'maxRdAtomic'], ...rtsRc),
    'Rts Rts': only(...rtsRc),
    'Rts Sqd': only('enSqdAsyncNotify'),
    'Sqd Rts': only(...rtsRc),
    'Sqd Sqd': only(
      ...(['port', 'ah', 'timeout', 'retryCnt', 'rnrRetry', 'maxRdAtomic', 'maxDestRdAtomic'] as const),
      ...alt,
      ...(['accessFlags', 'pkeyIndex', 'minRnrTimer', 'pathMigState'] as const),
    ),
  },
  UC: {
    ...toAnyEnd,
    'Reset Init': needs(initConnected),
    'Init Init': only(...initConnected),
    'Init Rtr': needs(address, ...alt, 'accessFlags', 'pkeyIndex'),
    'Rtr Rts': needs(['sqPsn'], ...rtsUc),
    'Rts Rts': only(...rtsUc),
    'Rts Sqd': only('enSqdAsyncNotify'),
    'Sqd Rts': only(...rtsUc),
    'Sqe Rts': only('curState', 'accessFlags'),
    'Sqd Sqd': only('ah', ...alt, 'accessFlags', 'pkeyIndex', 'pathMigState'),
  },
  UD: {
    ...toAnyEnd,
    'Reset Init': needs(initUd),
    'Init Init': only(...initUd),
    'Init Rtr': only('pkeyIndex', 'qkey'),
    'Rtr Rts': needs(['sqPsn'], ...rtsUd),
    'Rts Rts': only(...rtsUd),
    'Rts Sqd': only('enSqdAsyncNotify'),
    'Sqd Rts': only(...rtsUd),
    'Sqe Rts': only(...rtsUd),
    'Sqd Sqd': only('pkeyIndex', 'qkey'),
  },
}

export const stateNames = Object.keys(QpState) as StateName[]

function typeName(end: End): TypeName {
  return nameOf(QpType, end.qp.type) as TypeName
}

/** A good value for every attribute; `curState` is the state that the QP is in. */
export function goodValues(t: Setup, end: End): Omit<QpAttr, 'state'> {
  const ah = t.address(end.endpoint)
  return {
    curState: end.qp.state,
    pathMtu: 1024,
    pathMigState: 0,
    qkey: defaults.qkey,
    rqPsn: 0x123456,
    sqPsn: 0x654321,
    destQpNum: end.qp.qpNum,
    accessFlags: defaults.connect.accessFlags!,
    ah,
    altAh: ah,
    pkeyIndex: 0,
    altPkeyIndex: 0,
    enSqdAsyncNotify: true,
    maxRdAtomic: 1,
    maxDestRdAtomic: 1,
    minRnrTimer: 12,
    port: 1,
    timeout: 14,
    retryCnt: 7,
    rnrRetry: 7,
    altPort: 1,
    altTimeout: 14,
  }
}

/** Modifies with exactly these attributes, whatever the type of the QP. */
export function modify(
  t: Setup,
  end: End,
  to: StateName | number,
  attributes: readonly AttrName[],
  values: Partial<QpAttr> = {},
): void {
  const good = { ...goodValues(t, end), ...values }
  const given = Object.fromEntries(attributes.map((name) => [name, good[name]]))
  end.qp.modify({ state: typeof to === 'number' ? to : QpState[to], ...given } as never)
}

/** Goes from the present state on to `state` along RESET, INIT, RTR, RTS; SQD and ERR are reached from there. */
export function bring(t: Setup, end: End, state: Exclude<StateName, 'Sqe'>): void {
  const table = transitions[typeName(end)]
  const path = ['Reset', 'Init', 'Rtr', 'Rts', 'Sqd'] as const
  const target = state === 'Err' ? 'Init' : state
  let at = path.findIndex((name) => QpState[name] === end.qp.state)
  if (state === 'Reset' || at < 0) {
    modify(t, end, 'Reset', [])
    at = 0
  }
  for (; path[at] !== target; at++) modify(t, end, path[at + 1]!, table[`${path[at]} ${path[at + 1]}`]!.required)
  if (state === 'Err') modify(t, end, 'Err', [])
  end.expectState(state)
}

/** The same from RESET, and it waits until a send queue is drained and reaches SQE by an error in the send queue. */
export async function bringFresh(t: Setup, end: End, state: StateName): Promise<void> {
  if (state === 'Sqe') {
    bring(t, end, 'Reset')
    bring(t, end, 'Rts')
    const fields = end.qp.type === QpType.UD ? end.datagram(t, end) : {}
    const sgList = [{ ...end.sge(), lkey: end.mr.lkey ^ 0x55aa00 }]
    expect(await t.run(end, Opcode.Send, null, { ...fields, sgList })).toMatchObject({ status: 'LocProtErr' })
    end.expectState('Sqe')
    return
  }
  bring(t, end, 'Reset')
  if (state !== 'Sqd') return bring(t, end, state)
  bring(t, end, 'Rts')
  modify(t, end, 'Sqd', ['enSqdAsyncNotify'])
  const event = await t.asyncEvent(end.context, EventType.SqDrained)
  expectSame(event.qp, end.qp)
  end.expectState('Sqd')
}
