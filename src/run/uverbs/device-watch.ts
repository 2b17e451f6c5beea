/** An opened device with an observer: its commands by the table of commands, and the numbers of its objects. */
import { type DoorWatch, FileWatch } from '../watch/index.ts'
import { argumentsOf, type GivenAttributes, methodArguments, methodResult, resultOf } from './described.ts'
import type { Method, WriteCommand } from './schema.ts'

export interface AdapterWatch extends DoorWatch {
  /** True if the peers of the adapter's queue pairs are in the tables of this host. */
  readonly seesPeers: boolean
}

export class DeviceWatch extends FileWatch {
  readonly seesPeers: boolean
  /** The number of an object, by handle. */
  readonly ordinal: (handle: number) => number

  constructor(watch: AdapterWatch, opener: number, ordinal: (handle: number) => number) {
    super(watch, opener)
    this.seesPeers = watch.seesPeers
    this.ordinal = ordinal
  }

  /** Sets the command of write(2), by either way, as the call that is being executed. */
  command(command: WriteCommand, core: Uint8Array): void {
    this.see(command.verb, () => argumentsOf(command, core, this.ordinal))
  }

  answered(command: WriteCommand, core: Uint8Array | undefined): void {
    this.results(() => resultOf(command, core, this.ordinal))
  }

  /** Sets the method as the call that is being executed. */
  method(method: Method, call: GivenAttributes): void {
    this.see(method.verb, () => methodArguments(method, call, this.ordinal))
    this.results(() => methodResult(method, call, this.ordinal))
  }
}
