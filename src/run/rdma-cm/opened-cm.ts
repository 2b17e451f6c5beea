/**
 * `/dev/infiniband/rdma_cm` as a program has it open: commands by write(2), and events of the ids that it has created. GET_EVENT without an
 * event blocks until there is one.
 */
import type { CmEvent } from '../../cm/index.ts'
import type { Call, PolledFile, Result } from '../door.ts'
import { fail } from '../errnos.ts'
import { EventFile } from '../event-file.ts'
import { CmFileWatch } from './cm-watch.ts'
import { eventBytes, type Subject, subjectOf } from './event-bytes.ts'
import { type ChannelOwner, ProgramChannel } from './program-channel.ts'
import { ProgramId } from './program-id.ts'
import type { CmFile, Station } from './station.ts'
import { writeCommand } from './write-call.ts'

export class OpenedCm implements PolledFile, ChannelOwner, CmFile {
  readonly kind = 'polled'
  readonly asks = 'write'
  readonly door: Station
  readonly channel: ProgramChannel
  readonly watch: CmFileWatch | null
  readonly #file: EventFile
  #closed = false

  constructor(door: Station, { nonBlocking, process }: Call) {
    this.door = door
    this.watch = door.watch && new CmFileWatch(door.watch, process.pid)
    this.#file = new EventFile(nonBlocking, this.asks)
    try {
      this.channel = new ProgramChannel(door.channelOptions, this)
    } catch (error) {
      this.#file.close()
      throw error
    }
  }

  get descriptor(): number {
    return this.#file.descriptor
  }

  get otherEnd(): number {
    return this.#file.otherEnd
  }

  write(call: Call, address: number, length: number): Result {
    const execute = (): Result => writeCommand(this, call, address, length)
    try {
      return this.watch?.watched(call, execute) ?? execute()
    } finally {
      // Events go with ids that are destroyed.
      this.showEvents()
      this.door.showEvents()
    }
  }

  /** Fails: the kernel's file has no read either. */
  read(): number {
    fail('EINVAL', 'rdma_cm is not read from: events are asked for by GET_EVENT')
  }

  ioctl(): number {
    fail('ENOTTY', 'rdma_cm has no commands by ioctl')
  }

  // --- events --------------------------------------------------------------------------------------------------------

  requested(event: CmEvent): boolean {
    // One that comes with a listener from another file has its id already.
    if (event.id.context instanceof ProgramId) event.id.context.file = this
    else return this.door.addRequest(this, event.id)
    return true
  }

  isKnown({ id: { context } }: CmEvent): boolean {
    if (!(context instanceof ProgramId)) return false
    if (context.uid === 0n) context.isLost = true
    return context.uid !== 0n
  }

  arrived(): void {
    this.door.arrived(this)
  }

  getEvent(call: Call, address: number, room: number, length: number): Result {
    const next = this.#next()
    if (next !== undefined) {
      call.process.write(address, next.bytes.subarray(0, room))
      this.#take(next.subject, call.process.pid)
      return length
    }
    if (call.nonBlocking) fail('EAGAIN', 'rdma_get_cm_event: there is no event, and the channel does not block')
    return this.#file.block(call)
  }

  /** Returns the first event that can be reported to the program. */
  #next(): { bytes: Uint8Array; subject: Subject } | undefined {
    for (let event = this.channel.firstEvent; event !== undefined; event = this.channel.firstEvent) {
      const subject = subjectOf(event)
      if (subject !== undefined) return { subject, bytes: eventBytes(event, subject) }
      this.channel.tryGetEvent()
    }
    return undefined
  }

  /** `pid`: the process that has received it. */
  #take(subject: Subject, pid: number): void {
    const event = this.channel.tryGetEvent()
    if (event !== undefined) {
      this.door.seen(event)
      this.watch?.handedOut(event, subject, pid)
    }
    for (const one of subject.counted) one.reported++
  }

  showEvents(): void {
    if (!this.#closed) this.#file.readable = this.channel.firstEvent !== undefined
  }

  closed(): void {
    if (this.#closed) return
    this.#closed = true
    this.door.closed(this)
    this.channel.close()
    this.#file.close()
  }
}
