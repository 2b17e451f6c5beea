/** MADs of programs that are not completed: requests without a response yet, and messages of several packets without their ACKs. */
import type { MadAddress } from '../../gsi/index.ts'
import { RmppSender } from '../../management/index.ts'
import { isMadResponse, Mad, u32 } from '../../wire/index.ts'
import type { UmadAgent } from './agent.ts'
import type { UserMad } from './structs.ts'

export class Outgoing {
  readonly agent: UmadAgent
  /** Header that the program has written. */
  readonly header: UserMad
  /** A MAD, or all of a message. */
  readonly message: Uint8Array
  readonly to: MadAddress
  readonly transaction: string
  readonly isResponse: boolean
  readonly rmpp: RmppSender | null
  readonly timeoutNs: number
  #retriesLeft: number
  /** Time at which it is retried or has failed, while it waits for its response. */
  #deadline = Number.POSITIVE_INFINITY

  constructor(agent: UmadAgent, header: UserMad, message: Uint8Array, to: MadAddress, isRmpp: boolean) {
    this.agent = agent
    this.header = header
    this.message = message
    this.to = to
    this.transaction = transactionOf(message)
    this.isResponse = isMadResponse(message[Mad.method]!)
    this.timeoutNs = header.timeoutMs * 1e6
    this.#retriesLeft = header.retries
    this.rmpp = isRmpp ? new RmppSender(message, { timeoutNs: this.timeoutNs, retries: header.retries }) : null
  }

  /** True if a response is expected. */
  get expectsResponse(): boolean {
    return this.timeoutNs > 0
  }

  /** Starts the time for the response: the MAD was sent, all of it. */
  waitFrom(nowNs: number): void {
    this.#deadline = nowNs + this.timeoutNs
  }

  get deadlineNs(): number {
    return Math.min(this.#deadline, this.rmpp?.deadlineNs ?? Number.POSITIVE_INFINITY)
  }

  /**
   * True if the MAD may be sent once more: called when the time for a response is over. A message of several packets was received, and is
   * not repeated.
   */
  retries(): boolean {
    return this.rmpp === null && this.#retriesLeft-- > 0
  }

  isLate(nowNs: number): boolean {
    return this.#deadline <= nowNs
  }

  /** True if its time is all but over: a program that measures it as well may be first. */
  isNearlyLate(nowNs: number): boolean {
    return this.#deadline - this.timeoutNs / 10 <= nowNs
  }
}

/** Returns the key of a request and its response: transaction and class. */
export const transactionOf = (mad: Uint8Array): string =>
  `${u32(mad, Mad.transactionId)}/${u32(mad, Mad.transactionId + 4)}/${mad[Mad.mgmtClass]}`
