/** The event channel of a file that a program has open: selects the events that are reported to it. */
import { type CmEvent, CmEventType, EventChannel, type EventChannelOptions } from '../../cm/index.ts'

export interface ChannelOwner {
  /** Called for a request; false if there is no room for its id. */
  requested(event: CmEvent): boolean
  /** True if the event can be reported to the program: it knows the id, or can still learn of it. */
  isKnown(event: CmEvent): boolean
  /** Called when there is an event. */
  arrived(): void
}

export class ProgramChannel extends EventChannel {
  readonly #owner: ChannelOwner

  constructor(options: EventChannelOptions, owner: ChannelOwner) {
    super(options)
    this.#owner = owner
  }

  override push(event: CmEvent): void {
    if (event.type === CmEventType.ConnectRequest) {
      if (!this.#owner.requested(event)) {
        // As the kernel without memory for it.
        event.id.close()
        return
      }
    } else if (!this.#owner.isKnown(event)) return
    super.push(event)
    this.#owner.arrived()
  }
}
