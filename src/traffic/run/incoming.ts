/** Messages from servers: they are counted for the flow that was requested, and flows of which a message is missing are lost. */
import { WcFlag, type WorkCompletion } from '../../verbs/index.ts'
import { type Channel, verbIndex } from './channel.ts'
import type { Link } from './link.ts'
import type { Outcomes } from './outcomes.ts'
import type { Patience } from './patience.ts'

const { send, send_with_imm: sendImm } = verbIndex

export class Incoming {
  readonly #outcomes: Outcomes
  readonly #patience: Patience

  constructor(outcomes: Outcomes, patience: Patience) {
    this.#outcomes = outcomes
    this.#patience = patience
  }

  /** Processes a message of RC, where all messages come, and in order. False if no flow was requested. */
  inOrder(server: number, channel: Channel, wc: WorkCompletion, now: number): boolean {
    const { awaited } = channel
    if (awaited.head === awaited.next) return false
    const at = awaited.head & awaited.mask
    const verb = awaited.verbs[at]!
    if (verb === send || verb === sendImm) {
      channel.arrived += wc.byteLen
      if (channel.arrived < awaited.sizes[at]!) return true
    }
    channel.arrived = 0
    this.#outcomes.complete(server, channel, awaited, now)
    return true
  }

  /**
   * Processes a message of UC or UD: the number of the flow is in the immediate, or in the first bytes of the message.
   * @param number number of the channel in its link
   * @param slot slot of the receive
   */
  unreliable(
    server: number,
    link: Link,
    channel: Channel,
    number: number,
    slot: number,
    wc: WorkCompletion,
    now: number,
  ): void {
    const { awaited } = channel
    const bytes = wc.byteLen - (channel.type === 'UD' ? 40 : 0)
    const withImm = (wc.wcFlags & WcFlag.WithImm) !== 0
    const known = withImm ? 4 : Math.min(4, bytes)
    const modulus = 256 ** known
    const sequence = withImm ? wc.immData : link.beginning(number, slot, known)
    const ahead = (((sequence - awaited.head) % modulus) + modulus) % modulus
    this.#patience.heard(channel.index, now)
    // A flow that was given up, or a copy.
    if (awaited.head + ahead >= awaited.next) return
    for (let i = 0; i < ahead; i++) this.#lost(server, channel, now)
    const at = awaited.head & awaited.mask
    const verb = awaited.verbs[at]!
    if (verb === send || verb === sendImm) {
      channel.arrived += bytes
      if (channel.arrived < awaited.sizes[at]!) {
        // The last message has come, and one before it has not.
        if (withImm) this.#lost(server, channel, now)
        return
      }
    }
    if (channel.marks?.take(writesOf(channel)) === false) {
      this.#outcomes.lose(server, channel, now)
      return
    }
    channel.arrived = 0
    this.#outcomes.complete(server, channel, awaited, now)
  }

  /** Gives up flows of UC and UD whose data does not come any more: they are lost. */
  giveUp(server: number, channel: Channel, now: number): void {
    const { awaited, marks } = channel
    if (!channel.unreliable) return
    while (awaited.head < awaited.next && this.#patience.isOver(channel, now)) {
      marks?.giveUp(writesOf(channel))
      this.#outcomes.lose(server, channel, now)
    }
  }

  /** Records the loss of the flow at the head, which a later message shows. */
  #lost(server: number, channel: Channel, now: number): void {
    channel.marks?.take(writesOf(channel))
    this.#outcomes.lose(server, channel, now)
  }
}

/** Returns the number of WRITEs with marks of the flow at the head. */
function writesOf(channel: Channel): number {
  const { awaited } = channel
  const at = awaited.head & awaited.mask
  return channel.marksOf(awaited.verbs[at]!, awaited.sizes[at]!, awaited.rates[at]!)
}
