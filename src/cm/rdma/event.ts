/** Events of the RDMA CM: `rdma_cm_event`. */
import { type AddressHandle, type AhAttr, QpType } from '../../verbs/index.ts'
import { CmRejReason, rejReasonText } from '../../wire/index.ts'
import { CmEventType, errno, eventText } from './constants.ts'

/** What came with an event: `param.conn` and `param.ud` in one. Fields that mean nothing for the event are absent. */
export interface CmEventParam {
  /** As long as the message has room for it: zeros follow what the peer sent. Empty if the event carries none. */
  privateData: Uint8Array
  /** As seen from here: what may be given to `accept`. */
  responderResources?: number
  initiatorDepth?: number
  flowControl?: boolean
  retryCount?: number
  rnrRetryCount?: number
  /** Whether the peer's QP has an SRQ. */
  srq?: boolean
  /** The peer's queue pair; of a multicast group 0xffffff. */
  qpNum?: number
  /** UD: what to send to the peer or group with. */
  qkey?: number
  ahAttr?: AhAttr
  /** UD: made in the id's protection domain when it is first asked for, closed with the id. */
  readonly ah?: AddressHandle
  /** Of `joinMulticast`. */
  context?: unknown
}

/** What an event says of its id in words. */
export interface EventId {
  readonly qpType: QpType
  readonly peerAddress: { readonly address: string; readonly port: number } | undefined
  /** What a rejection by a missing listener means. */
  readonly nobodyListens: string
}

/** An event of an id of type `Id`. Programs see it as `CmEvent`. */
export class IdEvent<Id extends EventId> {
  readonly type: CmEventType
  readonly id: Id
  /** Of a ConnectRequest: the id that listens; `id` is then the new one. */
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

  /** The status in words: "ETIMEDOUT", "reason 8, invalid service id: nobody listens there". */
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
