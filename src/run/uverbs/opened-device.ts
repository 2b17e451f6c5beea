/** A uverbs device that a program has open: commands by either way, doorbells, and its end. */
import type { Call, QueueFile } from '../door.ts'
import { fail } from './errors.ts'
import { callMethod } from './ioctl-call.ts'
import { notifyCall } from './notify-call.ts'
import { ProgramContext } from './program-context.ts'
import type { Station } from './station.ts'
import { writeCommand } from './write-call.ts'

/** Number of queue pairs up to which checking all of them takes less time than reading which of them has rung. */
const fewQps = 8
/** Maximum number of requests of a doorbell record that are read one by one; after more the log is read again anyway. */
const handlesAtOnce = 512
/** Number of checks without reading the log, after which one reads it and so frees its memory. */
const looksWithoutLog = 8192

/** Called when a file is closed: the door's part of it. */
export interface Closing {
  closed(device: OpenedDevice): void
}

export class OpenedDevice implements QueueFile {
  readonly kind = 'queues'
  readonly descriptor: number
  readonly context: ProgramContext
  readonly #door: Closing
  readonly #handles = new Uint32Array(handlesAtOnce)
  #looks = 0
  #closed = false

  /** `opener`: the process that opens it. */
  constructor(station: Station, door: Closing, opener: number) {
    this.context = new ProgramContext(station, opener)
    this.#door = door
    try {
      this.descriptor = this.context.file.open()
    } catch (error) {
      this.context.close()
      throw error
    }
  }

  ioctl(call: Call, request: number, argument: number): number {
    const execute = (): number => callMethod(this.context, call, request, argument)
    return this.context.watch?.watched(call, execute) ?? execute()
  }

  notifies(argument: Uint32Array): boolean {
    // A watched program has every call described.
    return this.context.watch === null && !this.#closed && notifyCall(this.context, argument)
  }

  write(call: Call, address: number, length: number): number {
    const execute = (): number => writeCommand(this.context, call, address, length)
    return this.context.watch?.watched(call, execute) ?? execute()
  }

  /** Queues are mapped, and events have descriptors of their own. */
  read(): number {
    fail('EINVAL', 'a uverbs device is not read from')
  }

  rung(): void {
    if (this.#closed) return
    const { qps, srqs, station } = this.context
    if (qps.length > fewQps || ++this.#looks >= looksWithoutLog) {
      this.#looks = 0
      this.#takeByLog()
    } else for (let i = 0; i < qps.length; i++) station.takeFrom(qps[i]!)
    for (let i = 0; i < srqs.length; i++) station.takeFrom(srqs[i]!)
  }

  #takeByLog(): void {
    const { context } = this
    const { station, qps } = context
    const count = context.file.doorbells(this.#handles)
    if (count < 0) for (const qp of qps) station.takeFrom(qp)
    for (let i = 0; i < count; i++) {
      const qp = context.at('qp', this.#handles[i]!)
      if (qp) station.takeFrom(qp)
    }
  }

  isLeft(): boolean {
    return this.context.file.isLeft
  }

  closed(): void {
    if (this.#closed) return
    this.#closed = true
    this.context.close()
    this.#door.closed(this)
  }
}
