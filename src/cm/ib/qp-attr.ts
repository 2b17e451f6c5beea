/** The attributes that take a queue pair through its states for a connection, as `ib_cm_init_qp_attr` gives them. */
import { Access, type AhAttr, type PathMtu, type QpAttr, QpState, QpType } from '../../verbs/provider/index.ts'
import type { CmPath } from '../../wire/index.ts'
import type { CmConnection } from './connection.ts'
import { CmError } from './errors.ts'
import { mtuBytes } from './mtu.ts'

/** Attributes that the messages do not contain: the local port, and entries of its tables. */
export interface QpAttrPlace {
  /** Default 1. */
  port?: number
  pkeyIndex?: number
  sgidIndex?: number
  /** Port of the alternate path. */
  altPort?: number
  altPkeyIndex?: number
  altSgidIndex?: number
}

/**
 * Returns the attributes for `qp.modify`: to INIT, RTR, or RTS. The peer's access rights are REMOTE_WRITE, and READ and atomics if this end
 * serves any. The RNR timer is 0, the longest, as in Linux: give another `minRnrTimer` by spreading over it. RTR and RTS need values of the
 * peer's message: before it, ERR_CM_STATE.
 */
export function qpAttrOf<A>(
  connection: CmConnection<A>,
  state: typeof QpState.Init | typeof QpState.Rtr | typeof QpState.Rts,
  place: QpAttrPlace = {},
): Partial<QpAttr> {
  const { port = 1, pkeyIndex = 0 } = place
  const c = connection
  const reliable = c.qpType === QpType.RC
  const wrong = c.kind === 'sidr' ? 'it is no connection' : c.state === 'IDLE' ? 'it is over' : undefined
  if (wrong !== undefined) throw new CmError('ERR_CM_STATE', 'qpAttrOf', `${wrong}: there are no attributes for a QP`)
  if (state === QpState.Init) {
    const serves = c.responderResources > 0 ? Access.RemoteRead | Access.RemoteAtomic : 0
    return { state, pkeyIndex, port, accessFlags: Access.LocalWrite | Access.RemoteWrite | serves }
  }
  if (c.remoteQpn === 0)
    throw new CmError('ERR_CM_STATE', 'qpAttrOf', `the QP of the peer is not known in ${c.state}: wait for repReceived`)
  const alternate = c.alternate === undefined ? undefined : alternatePath(c.alternate, place)
  if (state === QpState.Rtr)
    return {
      state,
      ah: ahOf(c.primary, port, place.sgidIndex),
      pathMtu: mtuBytes(c.pathMtu) as PathMtu,
      destQpNum: c.remoteQpn,
      rqPsn: c.rqPsn,
      ...(reliable ? { maxDestRdAtomic: c.responderResources, minRnrTimer: 0 } : {}),
      ...alternate,
    }
  return {
    state,
    sqPsn: c.sqPsn,
    ...(reliable
      ? { timeout: c.ackTimeout, retryCnt: c.retryCount, rnrRetry: c.rnrRetryCount, maxRdAtomic: c.initiatorDepth }
      : {}),
  }
}

/** Returns the address vector of a path as seen from here. */
export function ahOf(path: CmPath, portNum: number, sgidIndex = 0): AhAttr {
  const { remoteLid, remoteGid, serviceLevel, flowLabel, hopLimit, trafficClass } = path
  const grh = { dgid: remoteGid, sgidIndex, flowLabel, hopLimit, trafficClass }
  return { dlid: remoteLid, sl: serviceLevel, portNum, grh }
}

/** Returns the attributes that load an alternate path: into RTR, or into RTS when a LAP was accepted (then with `pathMigState` REARM). */
export function alternatePath(
  path: CmPath,
  place: QpAttrPlace,
): Required<Pick<QpAttr, 'altAh' | 'altPkeyIndex' | 'altPort' | 'altTimeout'>> {
  const altPort = place.altPort ?? place.port ?? 1
  return {
    altAh: ahOf(path, altPort, place.altSgidIndex ?? place.sgidIndex),
    altPkeyIndex: place.altPkeyIndex ?? place.pkeyIndex ?? 0,
    altPort,
    altTimeout: path.localAckTimeout,
  }
}
