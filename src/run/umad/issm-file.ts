/** `/dev/infiniband/issmN`: while it is open, the port reports that a subnet manager is there. One program has it open at a time. */
import type { PolledFile } from '../door.ts'
import { fail } from '../errnos.ts'
import { EventFile } from '../event-file.ts'
import type { UmadPort } from './umad-port.ts'

export class IssmFile implements PolledFile {
  readonly kind = 'polled'
  readonly asks = 'read'
  readonly #events: EventFile
  readonly #port: UmadPort
  readonly #left: (file: IssmFile) => void
  #isClosed = false

  constructor(port: UmadPort, nonBlocking: boolean, left: (file: IssmFile) => void) {
    const { fabric } = port
    if (fabric === null) fail('EPROTONOSUPPORT', 'a port on Ethernet has no subnet manager')
    // The kernel lets a program wait that may block.
    if (!fabric.manage(port.context.device.index, true))
      fail('EAGAIN', 'the port has a subnet manager already: end that one first')
    this.#port = port
    this.#left = left
    try {
      this.#events = new EventFile(nonBlocking, this.asks)
    } catch (error) {
      fabric.manage(port.context.device.index, false)
      throw error
    }
  }

  get descriptor(): number {
    return this.#events.descriptor
  }

  get otherEnd(): number {
    return this.#events.otherEnd
  }

  ioctl(): number {
    fail('ENOTTY', 'issm has no requests')
  }

  write(): number {
    fail('EINVAL', 'issm cannot be written to')
  }

  read(): number {
    fail('EINVAL', 'issm cannot be read')
  }

  closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#port.fabric!.manage(this.#port.context.device.index, false)
    this.#events.close()
    this.#left(this)
  }
}
