/** Events of the RDMA CM: `rdma_cm_event`. */
import { type AddressHandle, type AhAttr, QpType } from '../../verbs/index.ts'
import { CmRejReason, rejReasonText } from '../../wire/index.ts'
import { CmEventType, errno, eventText } from './constants.ts'

/** Parameters of an event: `param.conn` and `param.ud` in one. Fields that mean nothing for the event are absent. */
export interface CmEventParam {
  /** As long as the message has room for it: zeros follow what the peer sent. Empty if the event carries none. */
  privateData: Uint8Array
  /** As seen from here: what may be given to `accept`. */
  responderResources?: number
  initiatorDepth?: number
  flowControl?: boolean
  retryCount?: number
  rnrRetryCount?: number
  /** True if the peer's QP has an SRQ. */
  srq?: boolean
  /** Number of the peer's queue pair; for a multicast group 0xffffff. */
  qpNum?: number
  /** Q_Key and address for sending to the peer or group, for UD. */
  qkey?: number
  ahAttr?: AhAttr
  /** Address handle, for UD: made in the id's protection domain when it is first read, closed with the id. */
  readonly ah?: AddressHandle
  /** The `context` of `joinMulticast`. */
  context?: unknown
}

/** Properties of the id that an event's text contains. */
export interface EventId {
  readonly qpType: QpType
  readonly peerAddress: { readonly address: string; readonly port: number } | undefined
  /** Text for a rejection because of a missing listener. */
  readonly nobodyListens: string
}

/** An event of an id of type `Id`. Programs see it as `CmEvent`. */
export class IdEvent<Id extends EventId> {
  readonly type: CmEventType
  readonly id: Id
  /** Listening id of a ConnectRequest; `id` is then the new one. */
  readonly listenId: Id | undefined
  /** 0, a negative errno, or the reason of a rejection (`CmRejReason`) or of a SIDR_REP. */
  readonly status: number
  readonly param: CmEventParam

  constructor(type: CmEventType, id: Id, status: number, param: CmEventParam, listenId?: Id) {
    this.type = type
    this.id = id
    this.status = status
    this.param = param
    this.listenId = listenId
  }

  /** `RDMA_CM_EVENT_ESTABLISHED`, … */
  get name(): string {
    return eventText(this.type)
  }

  /** Text of the status: "ETIMEDOUT", "reason 28, consumer reject". */
  get statusText(): string {
    const { type, status } = this
    if (status < 0) return Object.entries(errno).find(([, code]) => code === -status)?.[0] ?? `errno ${-status}`
    if (status === 0) return 'success'
    if (this.id.qpType === QpType.UD) return `SIDR status ${status}`
    const nobody = type === CmEventType.Rejected && status === CmRejReason.InvalidServiceId
    return `reason ${status}, ${rejReasonText(status)}${nobody ? `: ${this.id.nobodyListens}` : ''}`
  }

  /** `rdma_ack_cm_event`: nothing need be acknowledged here. */
  ack(): void {}
}
