/** Observers for tests: one that keeps what it is told, and one that writes it to nobody. */
import type { Observer, ProgramRecord } from '../../../src/run/watch/index.ts'
import { textOf } from '../../../src/run/watch/text.ts'

/** Puts together all that a trace would have: what hostile programs do must not make that fail. */
export const writing: Observer = {
  detailed: true,
  observed: (pid) => ({ pid, program: 'test' }),
  record: (record) => void [textOf(record), JSON.stringify(record)],
}

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
