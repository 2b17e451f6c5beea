/** An opened device as it is watched: the commands of its program, and what happens to its queues. */
import { errnoName } from '../../memory/index.ts'
import { type Call, Errno } from '../door.ts'
import type { CommandRecord, ProgramRecord, TraceValue } from '../watch/index.ts'
import { nowUs, type Observed, type Observer } from '../watch/index.ts'
import { argumentsOf, type GivenAttributes, methodArguments, methodResult, resultOf } from './described.ts'
import type { Method, WriteCommand } from './schema.ts'

/** Who watches a door, and what programs call its adapter. */
export interface DoorWatch {
  readonly observer: Observer
  readonly device: string
  /** Whether queue pairs on which the adapter reaches others are in the tables of this host. */
  readonly seesPeers: boolean
}

type Values = Readonly<Record<string, TraceValue>>
type Without<R> = R extends ProgramRecord ? Omit<R, 'timeUs' | 'pid' | 'program' | 'device'> : never

const none: Values = {}

/** A command as it is executed. */
interface Seen {
  verb: string
  args: Values
  result: () => Values
}

export class DeviceWatch {
  readonly #watch: DoorWatch
  readonly #opener: Observed
  /** The number of an object, by handle. */
  readonly ordinal: (handle: number) => number
  #seen: Seen | null = null

  constructor(watch: DoorWatch, opener: number, ordinal: (handle: number) => number) {
    this.#watch = watch
    this.#opener = watch.observer.observed(opener)
    this.ordinal = ordinal
  }

  get seesPeers(): boolean {
    return this.#watch.seesPeers
  }

  /** Executes a call on the device, and tells of it. */
  watched(call: Call, execute: () => number): number {
    const timeUs = nowUs()
    this.#seen = null
    try {
      const result = execute()
      this.#tell(call, timeUs, undefined)
      return result
    } catch (error) {
      if (error instanceof Errno) this.#tell(call, timeUs, error)
      throw error
    }
  }

  /** The call is this command of write(2), whichever way it came. */
  command(command: WriteCommand, core: Uint8Array): void {
    const args = this.#watch.observer.detailed ? argumentsOf(command, core, this.ordinal) : none
    this.#seen = { verb: command.verb, args, result: () => none }
  }

  answered(command: WriteCommand, core: Uint8Array | undefined): void {
    if (this.#seen !== null && this.#watch.observer.detailed)
      this.#seen.result = () => resultOf(command, core, this.ordinal)
  }

  /** The call is this method. */
  method(method: Method, call: GivenAttributes): void {
    const { detailed } = this.#watch.observer
    this.#seen = {
      verb: method.verb,
      args: detailed ? methodArguments(method, call, this.ordinal) : none,
      result: () => (detailed ? methodResult(method, call, this.ordinal) : none),
    }
  }

  #tell(call: Call, timeUs: number, error: Errno | undefined): void {
    const { observer, device } = this.#watch
    const reason = error?.reason ?? ''
    const record: CommandRecord = {
      type: 'command',
      timeUs,
      // A child that has inherited the file is a process of its own.
      ...(call.process.pid === this.#opener.pid ? this.#opener : observer.observed(call.process.pid)),
      device,
      verb: this.#seen?.verb ?? /^ibv_\w+/.exec(reason)?.[0] ?? 'ioctl',
      args: this.#seen?.args ?? none,
      result: error === undefined ? (this.#seen?.result() ?? none) : none,
      ...(error === undefined
        ? {}
        : { errno: errnoName(error.errno), reason, ...(error.expected ? { expected: true } : {}) }),
      durationUs: nowUs() - timeUs,
    }
    observer.record(record)
  }

  /** Something has happened to what the opener has made. */
  record(record: Without<ProgramRecord>): void {
    const { observer, device } = this.#watch
    observer.record({ ...record, timeUs: nowUs(), ...this.#opener, device } as ProgramRecord)
  }
}
