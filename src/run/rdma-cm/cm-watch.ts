/** A file of rdma_cm with an observer: its commands, and the events that its program receives. */
import type { CmEvent } from '../../cm/index.ts'
import { type DoorWatch, FileWatch } from '../watch/index.ts'
import { argumentsOf, resultOf } from './described.ts'
import { privateDataOf, type Subject } from './event-bytes.ts'
import { ProgramId } from './program-id.ts'
import type { NamedCommand } from './schema.ts'
import { whyEventFailed } from './why-failed.ts'

export interface CmWatch extends Pick<DoorWatch, 'observer'> {
  /** The run's adapters: the name that programs use, and the one that `openDevice` takes. */
  readonly adapters: readonly { readonly name: string; readonly device: string }[]
}

export class CmFileWatch extends FileWatch {
  /** Names of the adapters, for sentences. */
  readonly #adapters: string

  constructor({ observer, adapters }: CmWatch, opener: number) {
    super({ observer, device: 'rdma_cm' }, opener)
    this.#adapters = adapters.map(({ name, device }) => `${name} (${device})`).join(', ')
  }

  command(command: NamedCommand, request: Uint8Array): void {
    this.see(command.verb, () => argumentsOf(command, request), command.name === 'GET_EVENT')
  }

  answered(command: NamedCommand, answer: Uint8Array): void {
    this.results(() => resultOf(command, answer))
  }

  /** Records an event that process `pid` has received. */
  handedOut(event: CmEvent, { number }: Subject, pid: number): void {
    const listener = event.listenId?.context
    const reason = whyEventFailed(event, this.#adapters)
    this.record(
      {
        type: 'cm-event',
        ...{ event: event.name, id: number, status: event.status, privateDataLength: privateDataOf(event).length },
        ...(listener instanceof ProgramId ? { listenId: listener.number } : {}),
        ...(reason === undefined ? {} : { reason }),
      },
      pid,
    )
  }
}
