import { describe, expect, it } from 'vitest'
import { checkTransition, nameOf, type QpAttrName, QpState, QpType, qpTransitions } from '../../../src/verbs/index.ts'

const types = Object.values(QpType)
const states = Object.values(QpState)
const allAttributes: readonly QpAttrName[] = [
  'curState',
  'enSqdAsyncNotify',
  'accessFlags',
  'pkeyIndex',
  'port',
  'qkey',
  'ah',
  'pathMtu',
  'timeout',
  'retryCnt',
  'rnrRetry',
  'rqPsn',
  'maxRdAtomic',
  'altAh',
  'altPkeyIndex',
  'altPort',
  'altTimeout',
  'minRnrTimer',
  'sqPsn',
  'maxDestRdAtomic',
  'pathMigState',
  'destQpNum',
]

/**
 * Section 2 of the reference, written down again: QP types, from, to, then required and optional attributes in the names
 * of `ib_qp_attr_mask`. What is not here is not legal.
 */
const reference = `
RC UC    Reset Init   R: PKEY_INDEX PORT ACCESS_FLAGS
UD       Reset Init   R: PKEY_INDEX PORT QKEY
GSI      Reset Init   R: PKEY_INDEX QKEY
RC UC    Init  Init   O: PKEY_INDEX PORT ACCESS_FLAGS
UD       Init  Init   O: PKEY_INDEX PORT QKEY
GSI      Init  Init   O: PKEY_INDEX QKEY
RC       Init  Rtr    R: AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER O: ALT_PATH ACCESS_FLAGS PKEY_INDEX
UC       Init  Rtr    R: AV PATH_MTU DEST_QPN RQ_PSN O: ALT_PATH ACCESS_FLAGS PKEY_INDEX
UD GSI   Init  Rtr    O: PKEY_INDEX QKEY
RC       Rtr   Rts    R: TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC O: CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE MIN_RNR_TIMER
UC       Rtr   Rts    R: SQ_PSN O: CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
UD GSI   Rtr   Rts    R: SQ_PSN O: CUR_STATE QKEY
RC       Rts   Rts    O: CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER
UC       Rts   Rts    O: CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
UD GSI   Rts   Rts    O: CUR_STATE QKEY
RC UC UD GSI Rts   Sqd    O: EN_SQD_ASYNC_NOTIFY
RC       Sqd   Rts    O: CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER
UC       Sqd   Rts    O: CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
UD GSI   Sqd   Rts    O: CUR_STATE QKEY
UC       Sqe   Rts    O: CUR_STATE ACCESS_FLAGS
UD GSI   Sqe   Rts    O: CUR_STATE QKEY
RC       Sqd   Sqd    O: PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE
UC       Sqd   Sqd    O: AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
UD GSI   Sqd   Sqd    O: PKEY_INDEX QKEY
RC UC UD GSI Reset Reset
RC UC UD GSI Init  Reset
RC UC UD GSI Rtr   Reset
RC UC UD GSI Rts   Reset
RC UC UD GSI Sqd   Reset
RC UC UD GSI Sqe   Reset
RC UC UD GSI Err   Reset
RC UC UD GSI Init  Err
RC UC UD GSI Rtr   Err
RC UC UD GSI Rts   Err
RC UC UD GSI Sqd   Err
RC UC UD GSI Sqe   Err
RC UC UD GSI Err   Err
`

const named: Readonly<Record<string, readonly QpAttrName[]>> = {
  CUR_STATE: ['curState'],
  EN_SQD_ASYNC_NOTIFY: ['enSqdAsyncNotify'],
  ACCESS_FLAGS: ['accessFlags'],
  PKEY_INDEX: ['pkeyIndex'],
  PORT: ['port'],
  QKEY: ['qkey'],
  AV: ['ah'],
  PATH_MTU: ['pathMtu'],
  TIMEOUT: ['timeout'],
  RETRY_CNT: ['retryCnt'],
  RNR_RETRY: ['rnrRetry'],
  RQ_PSN: ['rqPsn'],
  MAX_QP_RD_ATOMIC: ['maxRdAtomic'],
  ALT_PATH: ['altAh', 'altPkeyIndex', 'altPort', 'altTimeout'],
  MIN_RNR_TIMER: ['minRnrTimer'],
  SQ_PSN: ['sqPsn'],
  MAX_DEST_RD_ATOMIC: ['maxDestRdAtomic'],
  PATH_MIG_STATE: ['pathMigState'],
  DEST_QPN: ['destQpNum'],
}

interface Sets {
  required: QpAttrName[]
  optional: QpAttrName[]
}

const expected = new Map<string, Sets>()
for (const line of reference.trim().split('\n')) {
  const words = line.trim().split(/\s+/)
  const of: QpType[] = []
  while (words[0]! in QpType) of.push(QpType[words.shift() as keyof typeof QpType])
  const [from, to] = [words.shift(), words.shift()]
  const sets: Sets = { required: [], optional: [] }
  let into = sets.required
  for (const word of words) {
    if (word === 'R:') into = sets.required
    else if (word === 'O:') into = sets.optional
    else into.push(...named[word]!)
  }
  for (const type of of) expected.set(`${nameOf(QpType, type)} ${from} ${to}`, sets)
}

const key = (type: QpType, from: QpState, to: QpState): string =>
  `${nameOf(QpType, type)} ${nameOf(QpState, from)} ${nameOf(QpState, to)}`

function* everything(): Generator<[QpType, QpState, QpState]> {
  for (const type of types) for (const from of states) for (const to of states) yield [type, from, to]
}

describe('the transition table', () => {
  it('has each pair of states once', () => {
    const pairs = qpTransitions.map(({ from, to }) => `${from} ${to}`)
    expect(new Set(pairs).size).toBe(pairs.length)
  })

  // IBA 11.2.5.2
  it('permits exactly the transitions of the reference, with exactly their attributes', () => {
    for (const [type, from, to] of everything()) {
      const name = key(type, from, to)
      const sets = expected.get(name)
      if (!sets) {
        expect(checkTransition(type, from, to, []), name).toMatch(/is not a legal transition; from \w+ a QP can go to/)
        expect(checkTransition(type, from, to, allAttributes), name).toMatch(/is not a legal transition/)
        continue
      }
      const { required, optional } = sets
      expect(checkTransition(type, from, to, required), name).toBe(null)
      expect(checkTransition(type, from, to, [...required, ...optional]), name).toBe(null)
      for (const attribute of required) {
        const rest = required.filter((other) => other !== attribute)
        expect(checkTransition(type, from, to, rest), `${name} without ${attribute}`).toMatch(
          new RegExp(`requires ${attribute}$`),
        )
      }
      for (const attribute of optional) expect(checkTransition(type, from, to, [...required, attribute])).toBe(null)
      for (const attribute of allAttributes) {
        if (required.includes(attribute) || optional.includes(attribute)) continue
        expect(checkTransition(type, from, to, [...required, attribute]), `${name} with ${attribute}`).toMatch(
          new RegExp(`does not take ${attribute};`),
        )
      }
    }
  })

  it('says what is missing, what is too much, and where a QP can go instead', () => {
    const { Reset, Init, Rtr } = QpState
    const said = (to: QpState, given: readonly QpAttrName[]) => checkTransition(QpType.GSI, Reset, to, given)
    expect(said(Rtr, [])).toBe('GSI Reset -> Rtr is not a legal transition; from Reset a QP can go to Init')
    expect(said(Init, [])).toBe('GSI Reset -> Init requires pkeyIndex, qkey')
    expect(said(Init, ['pkeyIndex', 'qkey', 'port'])).toBe(
      'GSI Reset -> Init does not take port; it takes pkeyIndex, qkey',
    )
    expect(said(Reset, ['qkey'])).toBe('GSI Reset -> Reset does not take qkey; it takes no attributes')
  })
})
