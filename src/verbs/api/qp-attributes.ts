/** The attributes of a queue pair: their ranges, and where they are in its record. */
import { checkInteger, describe } from '../provider/arguments.ts'
import type { QpAttr } from '../provider/attributes.ts'
import { Access, PathMtus, QpState, QpType } from '../provider/constants.ts'
import type { Device } from '../provider/device.ts'
import { VerbsError } from '../provider/errors.ts'
import { Qp } from '../provider/layout.ts'
import type { QpAttrName } from '../provider/qp-state.ts'
import { checkAhAttr, readAv, writeAv } from './address.ts'

/** Attributes that are stored in the word of their name. */
const plainAttributes = [
  'pathMtu',
  'pathMigState',
  'qkey',
  'rqPsn',
  'sqPsn',
  'destQpNum',
  'accessFlags',
  'pkeyIndex',
  'altPkeyIndex',
  'maxRdAtomic',
  'maxDestRdAtomic',
  'minRnrTimer',
  'port',
  'timeout',
  'retryCnt',
  'rnrRetry',
  'altPort',
  'altTimeout',
] as const

/** Throws EINVAL, or EPERM, that names the attribute whose value is not possible. */
export function checkQpAttributes(device: Device, type: QpType, values: Partial<QpAttr>): void {
  const range = (name: QpAttrName, max: number): void => {
    if (values[name] !== undefined) checkInteger('modify', name, values[name], 0, max)
  }
  if (values.state !== undefined) checkInteger('modify', 'state', values.state, 0, QpState.Err)
  range('pkeyIndex', device.pkeys.length - 1)
  range('altPkeyIndex', device.pkeys.length - 1)
  range('rqPsn', 0xffffff)
  range('sqPsn', 0xffffff)
  range('destQpNum', 0xffffff)
  range('maxRdAtomic', device.attr.maxQpInitRdAtom)
  range('maxDestRdAtomic', device.attr.maxQpRdAtom)
  range('minRnrTimer', 31)
  range('timeout', 31)
  range('altTimeout', 31)
  range('retryCnt', 7)
  range('rnrRetry', 7)
  range('qkey', 0xffffffff)
  range('pathMigState', 2)
  range(
    'accessFlags',
    Access.LocalWrite |
      Access.RemoteWrite |
      Access.RemoteRead |
      Access.RemoteAtomic |
      Access.FlushGlobal |
      Access.FlushPersistent,
  )
  for (const name of ['port', 'altPort'] as const) {
    if (values[name] !== undefined) checkInteger('modify', name, values[name], 1, device.attr.physPortCnt)
  }
  if (values.pathMtu !== undefined) {
    if (!PathMtus.includes(values.pathMtu))
      throw new VerbsError(
        'EINVAL',
        'modify',
        `pathMtu must be one of ${PathMtus.join(', ')} bytes, not ${describe(values.pathMtu)}`,
      )
    if (values.pathMtu > device.port.activeMtu)
      throw new VerbsError(
        'EINVAL',
        'modify',
        `pathMtu ${values.pathMtu} is more than the port's active MTU of ${device.port.activeMtu}`,
      )
  }
  if (values.ah !== undefined) checkAhAttr('modify', 'ah', device, values.ah)
  if (values.altAh !== undefined) checkAhAttr('modify', 'altAh', device, values.altAh)
  if (values.qkey !== undefined && values.qkey >= 0x80000000 && type !== QpType.GSI)
    throw new VerbsError('EPERM', 'modify', 'Q_Keys with the highest bit set are for privileged consumers')
}

/**
 * Writes attributes that were checked into the record of a QP. In SQD a device may be sending again what is outstanding, and
 * see a new path half written: such a packet has a right ICRC, goes where some host drops it, and is sent again.
 */
export function storeQpAttributes(device: Device, q: number, values: Partial<QpAttr>): void {
  const { i32 } = device.host
  for (const name of plainAttributes) {
    const value = values[name]
    if (value !== undefined) i32[q + Qp[name]] = value as number
  }
  if (values.enSqdAsyncNotify !== undefined) i32[q + Qp.sqDrainNotify] = values.enSqdAsyncNotify ? 1 : 0
  if (values.ah !== undefined) {
    i32[q + Qp.destDevice] = device.route(values.ah)
    writeAv(i32, q + Qp.av, values.ah, i32[q + Qp.destDevice]!)
  }
  if (values.altAh !== undefined) writeAv(i32, q + Qp.altAv, values.altAh, device.route(values.altAh))
  if (values.destQpNum !== undefined) i32[q + Qp.destSlot] = 0
}

/** The attributes as the record of a QP has them now. */
export function readQpAttributes(i32: Int32Array, q: number): QpAttr {
  const state = Atomics.load(i32, q + Qp.state) as QpState
  const attr = {
    state,
    curState: state,
    enSqdAsyncNotify: i32[q + Qp.sqDrainNotify] === 1,
    ah: readAv(i32, q + Qp.av),
    altAh: readAv(i32, q + Qp.altAv),
  } as Record<string, unknown>
  for (const name of plainAttributes) attr[name] = name === 'qkey' ? i32[q + Qp.qkey]! >>> 0 : i32[q + Qp[name]]!
  return attr as unknown as QpAttr
}
