/** MADs that programs have sent and that are not done with: requests without a response yet, and messages of several packets without their ACKs. */
import type { MadAddress } from '../../gsi/index.ts'
import { RmppSender } from '../../management/index.ts'
import { isMadResponse, Mad, u32 } from '../../wire/index.ts'
import type { UmadAgent } from './agent.ts'
import type { UserMad } from './structs.ts'

export class Outgoing {
  readonly agent: UmadAgent
  /** As the program has written it. */
  readonly header: UserMad
  /** A MAD, or all of a message. */
  readonly message: Uint8Array
  readonly to: MadAddress
  readonly isResponse: boolean
  readonly rmpp: RmppSender | null
  readonly timeoutNs: number
  #retriesLeft: number
  /** When it is sent again, or has failed: while it waits for its response. */
  #deadline = Number.POSITIVE_INFINITY

  constructor(agent: UmadAgent, header: UserMad, message: Uint8Array, to: MadAddress, isRmpp: boolean) {
    this.agent = agent
    this.header = header
    this.message = message
    this.to = to
    this.isResponse = isMadResponse(message[Mad.method]!)
    this.timeoutNs = header.timeoutMs * 1e6
    this.#retriesLeft = header.retries
    this.rmpp = isRmpp ? new RmppSender(message, { timeoutNs: this.timeoutNs, retries: header.retries }) : null
  }

  /** Whether a response is to come. */
  get expectsResponse(): boolean {
    return this.timeoutNs > 0
  }

  /** It was sent, all of it: its response has this long from now on. */
  waitFrom(nowNs: number): void {
    this.#deadline = nowNs + this.timeoutNs
  }

  get deadlineNs(): number {
    return Math.min(this.#deadline, this.rmpp?.deadlineNs ?? Number.POSITIVE_INFINITY)
  }

  /** The time for a response is over: whether it may be sent once more. A message of several packets was received, and is not. */
  retries(): boolean {
    return this.rmpp === null && this.#retriesLeft-- > 0
  }

  isLate(nowNs: number): boolean {
    return this.#deadline <= nowNs
  }

  /** Whether it has that transaction and class: the upper half of the transaction is its agent's. */
  matches(mad: Uint8Array): boolean {
    const own = this.message
    return (
      u32(own, Mad.transactionId) === u32(mad, Mad.transactionId) &&
      u32(own, Mad.transactionId + 4) === u32(mad, Mad.transactionId + 4) &&
      own[Mad.mgmtClass] === mad[Mad.mgmtClass]
    )
  }
}
