/**
 * The state machine of a queue pair as data: InfiniBand Architecture volume 1, 11.2.5.2 (Modify Queue Pair), in the
 * form in which Linux holds it (`ib_modify_qp_is_ok`).
 *
 *                                     modify
 *     any ──► RESET ──► INIT ──► RTR ──► RTS ◄──► SQD          any but RESET ──► ERR (modify, or an error of an RC QP
 *               ▲                         ▲                                            or of any receive)
 *               └── close or reuse        └───── SQE ◄── RTS   (UC and UD: an error in the send queue)
 */

import type { QpAttr } from './attributes.ts'
import { nameOf, QpState, QpType } from './constants.ts'

/** The name of an attribute of `qp.modify`. */
export type QpAttrName = keyof QpAttr

interface Attributes {
  required: readonly QpAttrName[]
  optional: readonly QpAttrName[]
}

/** Legal transition and its attributes for each QP type. `state` may always be given. */
export interface QpTransition {
  /** The state that it leaves. */
  from: QpState
  /** The state that it leads to. */
  to: QpState
  /** Attributes that each QP type requires and accepts. */
  attributes: Readonly<Record<QpType, Attributes>>
}

const { Reset, Init, Rtr, Rts, Sqd, Sqe, Err } = QpState
const { GSI, RC, UC, UD } = QpType

const altPath = ['altAh', 'altPkeyIndex', 'altPort', 'altTimeout'] as const
const none: Attributes = { required: [], optional: [] }
const plain = { [GSI]: none, [RC]: none, [UC]: none, [UD]: none }
const initConnected = ['pkeyIndex', 'port', 'accessFlags'] as const
const initUd = ['pkeyIndex', 'port', 'qkey'] as const
const initGsi = ['pkeyIndex', 'qkey'] as const
const toRtrConnected = ['ah', 'pathMtu', 'destQpNum', 'rqPsn'] as const
const inRtsUd = ['curState', 'qkey'] as const
const inRtsUc = ['curState', 'accessFlags', ...altPath, 'pathMigState'] as const
const inRtsRc = [...inRtsUc, 'minRnrTimer'] as const
const inRts = {
  [RC]: { required: [], optional: inRtsRc },
  [UC]: { required: [], optional: inRtsUc },
  [UD]: { required: [], optional: inRtsUd },
  [GSI]: { required: [], optional: inRtsUd },
}

/** All legal transitions (`ib_modify_qp_is_ok`). */
export const qpTransitions: readonly QpTransition[] = [
  {
    from: Reset,
    to: Init,
    attributes: {
      [RC]: { required: initConnected, optional: [] },
      [UC]: { required: initConnected, optional: [] },
      [UD]: { required: initUd, optional: [] },
      [GSI]: { required: initGsi, optional: [] },
    },
  },
  {
    from: Init,
    to: Init,
    attributes: {
      [RC]: { required: [], optional: initConnected },
      [UC]: { required: [], optional: initConnected },
      [UD]: { required: [], optional: initUd },
      [GSI]: { required: [], optional: initGsi },
    },
  },
  {
    from: Init,
    to: Rtr,
    attributes: {
      [RC]: {
        required: [...toRtrConnected, 'maxDestRdAtomic', 'minRnrTimer'],
        optional: [...altPath, 'accessFlags', 'pkeyIndex'],
      },
      [UC]: { required: toRtrConnected, optional: [...altPath, 'accessFlags', 'pkeyIndex'] },
      [UD]: { required: [], optional: ['pkeyIndex', 'qkey'] },
      [GSI]: { required: [], optional: ['pkeyIndex', 'qkey'] },
    },
  },
  {
    from: Rtr,
    to: Rts,
    attributes: {
      [RC]: { required: ['timeout', 'retryCnt', 'rnrRetry', 'sqPsn', 'maxRdAtomic'], optional: inRtsRc },
      [UC]: { required: ['sqPsn'], optional: inRtsUc },
      [UD]: { required: ['sqPsn'], optional: inRtsUd },
      [GSI]: { required: ['sqPsn'], optional: inRtsUd },
    },
  },
  { from: Rts, to: Rts, attributes: inRts },
  {
    from: Rts,
    to: Sqd,
    attributes: {
      [RC]: { required: [], optional: ['enSqdAsyncNotify'] },
      [UC]: { required: [], optional: ['enSqdAsyncNotify'] },
      [UD]: { required: [], optional: ['enSqdAsyncNotify'] },
      [GSI]: { required: [], optional: ['enSqdAsyncNotify'] },
    },
  },
  { from: Sqd, to: Rts, attributes: inRts },
  {
    from: Sqd,
    to: Sqd,
    attributes: {
      [RC]: {
        required: [],
        optional: [
          'port',
          'ah',
          'timeout',
          'retryCnt',
          'rnrRetry',
          'maxRdAtomic',
          'maxDestRdAtomic',
          ...altPath,
          'accessFlags',
          'pkeyIndex',
          'minRnrTimer',
          'pathMigState',
        ],
      },
      [UC]: { required: [], optional: ['ah', ...altPath, 'accessFlags', 'pkeyIndex', 'pathMigState'] },
      [UD]: { required: [], optional: ['pkeyIndex', 'qkey'] },
      [GSI]: { required: [], optional: ['pkeyIndex', 'qkey'] },
    },
  },
  {
    from: Sqe,
    to: Rts,
    attributes: {
      [RC]: none,
      [UC]: { required: [], optional: ['curState', 'accessFlags'] },
      [UD]: { required: [], optional: inRtsUd },
      [GSI]: { required: [], optional: inRtsUd },
    },
  },
  { from: Reset, to: Reset, attributes: plain },
  { from: Err, to: Err, attributes: plain },
  ...[Init, Rtr, Rts, Sqd, Sqe, Err].map((from) => ({ from, to: Reset, attributes: plain })),
  ...[Init, Rtr, Rts, Sqd, Sqe].map((from) => ({ from, to: Err, attributes: plain })),
]

const byState = new Map(qpTransitions.map((t) => [t.from * 16 + t.to, t]))

/** RC never enters SQE, so that its SQE row in the table can never be taken. */
const curStateAllowed: ReadonlySet<QpState> = new Set([Rtr, Rts, Sqd, Sqe])

/**
 * Checks that a QP of `type` may go from `from` to `to` with exactly these attributes (`state` itself left out). Returns null, or a
 * description of the error that names the attribute.
 */
export function checkTransition(type: QpType, from: QpState, to: QpState, given: readonly QpAttrName[]): string | null {
  const transition = byState.get(from * 16 + to)
  const name = `${nameOf(QpType, type)} ${nameOf(QpState, from)} -> ${nameOf(QpState, to)}`
  // IBA 11.2.5.2: from each state a QP goes to some others, with the attributes that each needs.
  if (!transition || (type === RC && from === Sqe && to === Rts)) {
    const next = qpTransitions.filter((t) => t.from === from && t.to !== from).map((t) => nameOf(QpState, t.to))
    return `${name} is not a legal transition; from ${nameOf(QpState, from)} a QP can go to ${[...new Set(next)].join(', ')}`
  }
  const { required, optional } = transition.attributes[type]
  const missing = required.filter((attribute) => !given.includes(attribute))
  if (missing.length > 0) return `${name} requires ${missing.join(', ')}`
  const extra = given.filter(
    (attribute) => attribute !== 'state' && !required.includes(attribute) && !optional.includes(attribute),
  )
  if (extra.length > 0) {
    const allowed = [...required, ...optional]
    return `${name} does not take ${extra.join(', ')}; it takes ${allowed.length > 0 ? allowed.join(', ') : 'no attributes'}`
  }
  if (given.includes('curState') && !curStateAllowed.has(from)) return `${name} does not take curState`
  return null
}
