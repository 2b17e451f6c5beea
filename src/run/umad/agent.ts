/** An agent that a program has registered: of a file, where it has a number below 32, and of the port, where it has the upper half of transactions. */
import type { MadAddress } from '../../gsi/index.ts'
import { RmppReceiver } from '../../management/index.ts'
import type { Registration } from './registration.ts'
import type { UserMad } from './structs.ts'

/** Sender of a message. */
export interface Sender {
  readonly lid: number
  readonly qpn: number
  readonly sl: number
  readonly pkeyIndex: number
  /** The 40 bytes of the global route header, null without one. */
  readonly grh: Uint8Array | null
}

/** Owner of an agent: an opened file. */
export interface AgentOwner {
  received(agent: UmadAgent, message: Uint8Array, from: Sender): void
  /** Called when there was no response to a message that its agent has sent. */
  timedOut(agent: UmadAgent, header: UserMad, message: Uint8Array): void
  /**
   * Called when a message without a response ends with its agent, just before its time is over: the program has stopped waiting a moment
   * before, and is not notified.
   */
  gaveUp(header: UserMad, message: Uint8Array): void
}

/** Messages of several packets that an agent receives at once, and bytes of them: a table of all paths of a subnet of a thousand ports. */
const receiverLimits = { messages: 64, bytes: 64 << 20 }

export class UmadAgent {
  readonly owner: AgentOwner
  readonly index: number
  readonly registration: Registration
  /** The upper half of the transactions of its requests; the port chooses it. */
  readonly transactionHigh: number
  readonly receiver: RmppReceiver<MadAddress> | null

  constructor(owner: AgentOwner, index: number, registration: Registration, transactionHigh: number) {
    this.owner = owner
    this.index = index
    this.registration = registration
    this.transactionHigh = transactionHigh
    this.receiver = registration.rmpp ? new RmppReceiver(receiverLimits) : null
  }
}
