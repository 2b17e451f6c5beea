/** An observer that keeps what it is told. */
import type { Observer, ProgramRecord } from '../../../src/run/watch/index.ts'

export type RecordOf<T extends ProgramRecord['type']> = Extract<ProgramRecord, { type: T }>

export class Recording implements Observer {
  readonly detailed: boolean
  readonly records: ProgramRecord[] = []

  constructor(detailed = true) {
    this.detailed = detailed
  }

  observed(pid: number): { pid: number; program: string } {
    return { pid, program: 'test' }
  }

  record(record: ProgramRecord): void {
    this.records.push(record)
  }

  all<T extends ProgramRecord['type']>(type: T): RecordOf<T>[] {
    return this.records.filter((record): record is RecordOf<T> => record.type === type)
  }

  commands(verb: string): RecordOf<'command'>[] {
    return this.all('command').filter((record) => record.verb === verb)
  }
}
