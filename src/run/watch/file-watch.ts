/** A file that a program has open, with an observer: calls on it, and its events. Doors describe the calls. */
import { errnoName, errnos } from '../../memory/index.ts'
import { type Call, Errno } from '../door.ts'
import { nowUs, type Observed, type Observer } from './observer.ts'
import type { CommandRecord, ProgramRecord, TraceValue } from './records.ts'

/** Observer of a door, and the name in records of the device that the door serves. */
export interface DoorWatch {
  readonly observer: Observer
  readonly device: string
}

export type TraceValues = Readonly<Record<string, TraceValue>>
type OfDoor<R> = R extends ProgramRecord ? Omit<R, 'timeUs' | 'pid' | 'program' | 'device'> : never

const noValues: TraceValues = {}

/** A call that is being executed. */
export interface SeenCall {
  readonly verb: string
  readonly args: TraceValues
  result: () => TraceValues
  /** Flag: another record reports the success of the call, for example that of the event that it has received. */
  readonly isToldApart?: true
}

export class FileWatch {
  readonly #watch: DoorWatch
  readonly #opener: Observed
  protected seen: SeenCall | null = null

  /** `opener`: the process that opens it. */
  constructor(watch: DoorWatch, opener: number) {
    this.#watch = watch
    this.#opener = watch.observer.observed(opener)
  }

  /** True if records have arguments and results. */
  get detailed(): boolean {
    return this.#watch.observer.detailed
  }

  /** Executes a call on the file, and records it. */
  watched<R>(call: Call, execute: () => R): R {
    const timeUs = nowUs()
    this.seen = null
    try {
      const result = execute()
      this.#tell(call, timeUs, undefined)
      return result
    } catch (error) {
      if (error instanceof Errno) this.#tell(call, timeUs, error)
      throw error
    }
  }

  /** Sets the call that is being executed. `args` is called if records are detailed. */
  see(verb: string, args: () => TraceValues, isToldApart = false): void {
    const given = this.detailed ? args() : noValues
    this.seen = { verb, args: given, result: () => noValues, ...(isToldApart ? { isToldApart } : {}) }
  }

  /** Sets the results of the call. */
  results(result: () => TraceValues): void {
    if (this.seen !== null && this.detailed) this.seen.result = result
  }

  #tell(call: Call, timeUs: number, error: Errno | undefined): void {
    if (error === undefined && this.seen?.isToldApart) return
    const { observer, device } = this.#watch
    const reason = error?.reason ?? ''
    const record: CommandRecord = {
      type: 'command',
      timeUs,
      ...this.#callerOf(call.process.pid),
      device,
      verb: this.seen?.verb ?? /^(ibv|rdma|umad)_\w+/.exec(reason)?.[0] ?? 'ioctl',
      args: this.seen?.args ?? noValues,
      result: error === undefined ? (this.seen?.result() ?? noValues) : noValues,
      ...(error === undefined ? {} : failureOf(error)),
      durationUs: nowUs() - timeUs,
    }
    observer.record(record)
  }

  /** A child that has inherited the file is a process of its own. */
  #callerOf(pid: number): Observed {
    return pid === this.#opener.pid ? this.#opener : this.#watch.observer.observed(pid)
  }

  /** Records an event of an object of the opener, or one that process `pid` has received. */
  record(record: OfDoor<ProgramRecord>, pid: number = this.#opener.pid): void {
    const { observer, device } = this.#watch
    observer.record({ ...record, timeUs: nowUs(), ...this.#callerOf(pid), device } as ProgramRecord)
  }
}

/** Fields of a failed call. A call that would have to wait has not failed: no result is there yet. */
function failureOf({ errno, reason, expected }: Errno): Pick<CommandRecord, 'errno' | 'reason' | 'expected'> {
  const isExpected = expected || errno === errnos.EAGAIN
  return { errno: errnoName(errno), reason, ...(isExpected ? { expected: true } : {}) }
}
