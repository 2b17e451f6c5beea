/** attr_mask of `ibv_modify_qp`: its bits, the attributes that they stand for, and the fields of the request that have these. */
import type { QpAttrName } from '../../verbs/index.ts'

/** Bits of attr_mask, by their names without IBV_QP_. */
export type QpMaskName =
  | 'STATE'
  | 'CUR_STATE'
  | 'EN_SQD_ASYNC_NOTIFY'
  | 'ACCESS_FLAGS'
  | 'PKEY_INDEX'
  | 'PORT'
  | 'QKEY'
  | 'AV'
  | 'PATH_MTU'
  | 'TIMEOUT'
  | 'RETRY_CNT'
  | 'RNR_RETRY'
  | 'RQ_PSN'
  | 'MAX_QP_RD_ATOMIC'
  | 'ALT_PATH'
  | 'MIN_RNR_TIMER'
  | 'SQ_PSN'
  | 'MAX_DEST_RD_ATOMIC'
  | 'PATH_MIG_STATE'
  | 'DEST_QPN'

/** Bits of attr_mask, with the attributes that each stands for. */
export const qpMask: Readonly<
  Record<QpMaskName, { readonly bit: number; readonly attributes: readonly QpAttrName[] }>
> = {
  STATE: { bit: 1 << 0, attributes: ['state'] },
  CUR_STATE: { bit: 1 << 1, attributes: ['curState'] },
  EN_SQD_ASYNC_NOTIFY: { bit: 1 << 2, attributes: ['enSqdAsyncNotify'] },
  ACCESS_FLAGS: { bit: 1 << 3, attributes: ['accessFlags'] },
  PKEY_INDEX: { bit: 1 << 4, attributes: ['pkeyIndex'] },
  PORT: { bit: 1 << 5, attributes: ['port'] },
  QKEY: { bit: 1 << 6, attributes: ['qkey'] },
  AV: { bit: 1 << 7, attributes: ['ah'] },
  PATH_MTU: { bit: 1 << 8, attributes: ['pathMtu'] },
  TIMEOUT: { bit: 1 << 9, attributes: ['timeout'] },
  RETRY_CNT: { bit: 1 << 10, attributes: ['retryCnt'] },
  RNR_RETRY: { bit: 1 << 11, attributes: ['rnrRetry'] },
  RQ_PSN: { bit: 1 << 12, attributes: ['rqPsn'] },
  MAX_QP_RD_ATOMIC: { bit: 1 << 13, attributes: ['maxRdAtomic'] },
  ALT_PATH: { bit: 1 << 14, attributes: ['altAh', 'altPkeyIndex', 'altPort', 'altTimeout'] },
  MIN_RNR_TIMER: { bit: 1 << 15, attributes: ['minRnrTimer'] },
  SQ_PSN: { bit: 1 << 16, attributes: ['sqPsn'] },
  MAX_DEST_RD_ATOMIC: { bit: 1 << 17, attributes: ['maxDestRdAtomic'] },
  PATH_MIG_STATE: { bit: 1 << 18, attributes: ['pathMigState'] },
  DEST_QPN: { bit: 1 << 20, attributes: ['destQpNum'] },
}

const masks: readonly [name: string, bit: number, attributes: readonly QpAttrName[]][] = Object.entries(qpMask).map(
  ([name, { bit, attributes }]) => [`IBV_QP_${name}`, bit, attributes],
)
export const allBits: number = masks.reduce((all, [, bit]) => all | bit, 0)

/** The bits that stand for these attributes. */
export const bitsOf = (names: readonly QpAttrName[]): number =>
  masks.reduce((all, [, bit, attributes]) => (attributes.some((name) => names.includes(name)) ? all | bit : all), 0)

/** The fields of a request that bits of attr_mask stand for; paths are `ah_attr` and `alt_ah_attr`. */
export function modifiedFields(mask: number): string[] {
  const names: string[] = []
  for (const [name, bit] of masks) {
    if ((mask & bit) === 0) continue
    const field = name.slice('IBV_QP_'.length).toLowerCase()
    names.push(...(fieldNames[field] ?? [field]))
  }
  return names
}

/** Names of fields that differ from the name of their bit. */
const fieldNames: Readonly<Record<string, readonly string[]>> = {
  state: ['qp_state'],
  cur_state: ['cur_qp_state'],
  access_flags: ['qp_access_flags'],
  port: ['port_num'],
  av: ['ah_attr'],
  max_qp_rd_atomic: ['max_rd_atomic'],
  alt_path: ['alt_ah_attr', 'alt_pkey_index', 'alt_port_num', 'alt_timeout'],
  dest_qpn: ['dest_qp_num'],
}

const cap = 1 << 19

/** attr_mask in words. */
export function qpMaskNames(mask: number): string {
  // Sizes are asked for, and never modified.
  if ((mask & cap) !== 0) return [qpMaskNames(mask & ~cap), 'IBV_QP_CAP'].filter((names) => names !== '0').join('|')
  const unknown = (mask & ~allBits) >>> 0
  return (
    [namesOf(mask).replaceAll(', ', '|'), unknown === 0 ? '' : `0x${unknown.toString(16)}`].filter(Boolean).join('|') ||
    '0'
  )
}

export const namesOf = (bits: number): string =>
  masks
    .filter(([, bit]) => (bits & bit) !== 0)
    .map(([name]) => name)
    .join(', ')
