/** The communication manager of one agent: what its calls are; their bodies follow. */
import type { QpAttr, QpState } from '../../verbs/index.ts'
import type { CmConnection, CmListener } from './connection.ts'
import type { CmCounters } from './counters.ts'
import { CmError } from './errors.ts'
import type {
  AprParams,
  CmOptions,
  LapParams,
  ListenOptions,
  MraParams,
  RejParams,
  RepParams,
  ReqParams,
  SidrRepParams,
  SidrReqParams,
  WithPrivateData,
} from './parameters.ts'
import type { QpAttrPlace } from './qp-attr.ts'

function notYet(call: string): never {
  throw new CmError('ERR_CM_STATE', call, 'not written yet')
}

/** `now` is nanoseconds of any clock that does not go back; each call takes the time at which it is made. */
export class CommunicationManager<A> {
  declare readonly counters: CmCounters

  constructor(options: CmOptions<A>) {
    if (options.caGuid < 0n) notYet('CommunicationManager')
  }

  /** Connections in all states, and of these the requests that are not yet a connection. */
  get size(): number {
    return notYet('size')
  }
  get halfOpen(): number {
    return notYet('halfOpen')
  }

  listen(_serviceId: bigint, _options?: ListenOptions<A>): CmListener<A> {
    return notYet('listen')
  }
  /** Ends the listening; requests that were told stay. */
  closeListener(_listener: CmListener<A>): void {
    notYet('closeListener')
  }
  sendReq(_params: ReqParams<A>, _now: number): CmConnection<A> {
    return notYet('sendReq')
  }
  sendRep(_connection: CmConnection<A>, _params: RepParams, _now: number): void {
    notYet('sendRep')
  }
  sendRtu(_connection: CmConnection<A>, _params: WithPrivateData, _now: number): void {
    notYet('sendRtu')
  }
  sendRej(_connection: CmConnection<A>, _params: RejParams, _now: number): void {
    notYet('sendRej')
  }
  sendMra(_connection: CmConnection<A>, _params: MraParams, _now: number): void {
    notYet('sendMra')
  }
  sendDreq(_connection: CmConnection<A>, _params: WithPrivateData, _now: number): void {
    notYet('sendDreq')
  }
  sendDrep(_connection: CmConnection<A>, _params: WithPrivateData, _now: number): void {
    notYet('sendDrep')
  }
  sendLap(_connection: CmConnection<A>, _params: LapParams, _now: number): void {
    notYet('sendLap')
  }
  sendApr(_connection: CmConnection<A>, _params: AprParams, _now: number): void {
    notYet('sendApr')
  }
  sendSidrReq(_params: SidrReqParams<A>, _now: number): CmConnection<A> {
    return notYet('sendSidrReq')
  }
  sendSidrRep(_connection: CmConnection<A>, _params: SidrRepParams, _now: number): void {
    notYet('sendSidrRep')
  }
  /** The QP of a passive side got data: that is as good as an RTU. Nothing happens in other states. */
  established(_connection: CmConnection<A>, _now: number): void {
    notYet('established')
  }
  /** Whatever is under way ends as politely as its state allows, and no more events of the connection come. */
  close(_connection: CmConnection<A>, _now: number): void {
    notYet('close')
  }
  /** For `qp.modify`. */
  qpAttr(
    _connection: CmConnection<A>,
    _state: typeof QpState.Init | typeof QpState.Rtr | typeof QpState.Rts,
    _place?: QpAttrPlace,
  ): Partial<QpAttr> {
    return notYet('qpAttr')
  }
  /** A MAD that came to QP 1 from `from`. Never throws for what is in it. The bytes are copied. */
  receive(_mad: Uint8Array, _from: A, _now: number): void {
    notYet('receive')
  }
  /** When `expire` has something to do, nanoseconds; Infinity: not before another call. */
  deadline(): number {
    return notYet('deadline')
  }
  expire(_now: number): void {
    notYet('expire')
  }
}
