/** The usual transitions of a QP from RESET to RTS, with the values that its peer sent over any other channel. */
import { checkObject } from '../provider/arguments.ts'
import type { AhAttr, QpAttr, QpModify } from '../provider/attributes.ts'
import { Access, defaultPkey, type PathMtu, QpState, QpType } from '../provider/constants.ts'
import { VerbsError } from '../provider/errors.ts'
import { gsiQkey } from '../provider/gsi-agents.ts'
import type { QueuePair } from './objects.ts'
import { QueuePairObject, randomPsn } from './queue-pair.ts'

/** Values of a QP that its peer needs; can be posted to another thread or sent as JSON by other means. */
export interface QpEndpoint {
  /** QP number. */
  qpn: number
  /** PSN of its first packet. */
  psn: number
  /** LID of its port; 0 on Ethernet. */
  lid: number
  /** 16 bytes. */
  gid: Uint8Array
}

/** The endpoint of a QP, with a random start PSN unless one is given. */
export function endpointOf(qp: QueuePair, options: { psn?: number; gidIndex?: number } = {}): QpEndpoint {
  if (!(qp instanceof QueuePairObject)) throw new VerbsError('EINVAL', 'endpointOf', 'qp must be a QueuePair')
  checkObject('endpointOf', 'options', options)
  const { context } = qp.pd
  return {
    qpn: qp.qpNum,
    psn: options.psn ?? randomPsn(),
    lid: context.queryPort(1).lid,
    gid: context.queryGid(1, options.gidIndex ?? 0),
  }
}

/** Settings of `connectQp` that differ from the default. */
export interface ConnectOptions {
  /** The address vector, where it is not `pathTo(remote)`; its `portNum` is the port of this end. */
  ah?: AhAttr
  /** Bytes; default: the port's active MTU. */
  pathMtu?: PathMtu
  /** Bits of `Access` that the peer gets; default: all remote rights but FLUSH. */
  accessFlags?: number
  /** Local ACK timeout 4.096 µs · 2^timeout; 0 waits for ever; default 14. */
  timeout?: number
  /** Retries after time-outs and sequence errors, 0 to 7; default 7. */
  retryCnt?: number
  /** Retries after RNR NAKs, 0 to 7; 7, the default, waits for ever for the peer to post a receive. */
  rnrRetry?: number
  /** Time that the peer must wait after an RNR NAK, encoded; default 12. */
  minRnrTimer?: number
  /** READs and atomics outstanding here; default 16. */
  maxRdAtomic?: number
  /** READs and atomics that the peer may have outstanding; default 16. */
  maxDestRdAtomic?: number
  /** UD: default `defaultQkey`. */
  qkey?: number
  /** Index of the port's GID that is the source; default 0. */
  gidIndex?: number
  /** Stop in this state instead of RTS. */
  until?: typeof QpState.Init | typeof QpState.Rtr | typeof QpState.Rts
}

/** The address vector that leads to an endpoint, from the port's own GID `gidIndex`. */
export function pathTo(remote: QpEndpoint, gidIndex = 0): AhAttr {
  checkObject('pathTo', 'remote', remote)
  return { dlid: remote.lid, portNum: 1, grh: { dgid: remote.gid, sgidIndex: gidIndex, hopLimit: 64 } }
}

/** Default Q_Key of UD queue pairs. */
export const defaultQkey = 0x11111111

/**
 * Takes a QP through RESET → INIT → RTR → RTS. `local` is its own endpoint, `remote` the peer's, null for UD. Errors as of
 * `qp.modify`.
 */
export function connectQp(
  qp: QueuePair,
  local: Pick<QpEndpoint, 'psn'>,
  remote: QpEndpoint | null,
  options: ConnectOptions = {},
): void {
  const modify = (attr: Partial<QpAttr>): void => qp.modify(attr as QpModify<QpType>)
  checkObject('connectQp', 'local', local)
  checkObject('connectQp', 'options', options)
  if (remote !== null) checkObject('connectQp', 'remote', remote)
  const { type } = qp
  const until = options.until ?? QpState.Rts
  const port = options.ah?.portNum ?? 1
  const pkeyIndex = qp.pd.context.getPkeyIndex(port, defaultPkey)
  if (type === QpType.GSI) modify({ state: QpState.Init, pkeyIndex, qkey: gsiQkey })
  else if (type === QpType.UD) modify({ state: QpState.Init, pkeyIndex, port, qkey: options.qkey ?? defaultQkey })
  else modify({ state: QpState.Init, pkeyIndex, port, accessFlags: options.accessFlags ?? defaultAccess })
  if (until === QpState.Init) return
  if (type === QpType.UD || type === QpType.GSI) modify({ state: QpState.Rtr })
  else {
    if (remote === null) throw new VerbsError('EINVAL', 'connectQp', 'a connected QP needs the endpoint of its peer')
    const path = {
      ah: options.ah ?? pathTo(remote, options.gidIndex),
      pathMtu: options.pathMtu ?? qp.pd.context.queryPort(port).activeMtu,
      destQpNum: remote.qpn,
      rqPsn: remote.psn,
    }
    if (type === QpType.UC) modify({ state: QpState.Rtr, ...path })
    else
      modify({
        state: QpState.Rtr,
        ...path,
        maxDestRdAtomic: options.maxDestRdAtomic ?? 16,
        minRnrTimer: options.minRnrTimer ?? 12,
      })
  }
  if (until === QpState.Rtr) return
  if (type !== QpType.RC) modify({ state: QpState.Rts, sqPsn: local.psn })
  else
    modify({
      state: QpState.Rts,
      sqPsn: local.psn,
      timeout: options.timeout ?? 14,
      retryCnt: options.retryCnt ?? 7,
      rnrRetry: options.rnrRetry ?? 7,
      maxRdAtomic: options.maxRdAtomic ?? 16,
    })
}

const defaultAccess = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic
