/** Address handles of events of a UD id. Each is made when the program first reads it, and closed with the id. */
import type { AddressHandle, AhAttr } from '../../verbs/index.ts'
import type { CmEventParam } from './event.ts'

export class EventHandles {
  readonly #create: (attr: AhAttr) => AddressHandle
  readonly #made: AddressHandle[] = []

  constructor(create: (attr: AhAttr) => AddressHandle) {
    this.#create = create
  }

  /** The whole of what came with an event: with `ah` where it has an `ahAttr`. */
  complete(param: Partial<CmEventParam>): CmEventParam {
    const whole = { privateData: new Uint8Array(0), ...param }
    const { ahAttr } = param
    if (ahAttr === undefined) return whole
    let handle: AddressHandle | undefined
    const get = (): AddressHandle => (handle ??= this.#make(ahAttr))
    return Object.defineProperty(whole, 'ah', { get, enumerable: false })
  }

  #make(attr: AhAttr): AddressHandle {
    const handle = this.#create(attr)
    this.#made.push(handle)
    return handle
  }

  close(): void {
    for (const handle of this.#made) if (!handle.closed) handle.close()
  }
}
