/** Selects the reports about programs by the options of `verbena run`, and writes them. */
import { Counting } from './counting.ts'
import { countsTable } from './counts-table.ts'
import { Explainer } from './explainer.ts'
import { programName } from './names.ts'
import { nowUs, type Observed, type Observer } from './observer.ts'
import { Output } from './output.ts'
import type { AdapterCounts, CountersRecord, ProgramRecord } from './records.ts'
import { textOf } from './text.ts'

export interface WatchSettings {
  /** Flag: explains failures on standard error. */
  readonly explain: boolean
  /** Descriptor to which all records are written. */
  readonly trace: number | null
  /** Descriptor to which the counts are written at the end. */
  readonly counters: number | null
  /** Flag: records are JSON, one per line. */
  readonly json: boolean
}

const standardError = 2

/** Name of an adapter, and its counters since it was opened by this run. */
export type Counted = Pick<AdapterCounts, 'name' | 'device' | 'counters'>

export class Watch implements Observer {
  readonly detailed: boolean
  readonly #settings: WatchSettings
  readonly #errors = new Output(standardError)
  readonly #trace: Output | null
  readonly #explainer: Explainer
  readonly #counting = new Counting()

  constructor(settings: WatchSettings) {
    this.#settings = settings
    this.#trace = settings.trace === null ? null : new Output(settings.trace)
    this.detailed = this.#trace !== null
    this.#explainer = new Explainer(this.#errors.line)
  }

  observed(pid: number): Observed {
    return { pid, program: programName(pid) }
  }

  record(record: ProgramRecord): void {
    this.#counting.add(record)
    this.#write(record)
    const reason = 'reason' in record ? record.reason : undefined
    // A request that cannot be executed completes with that reason in its turn.
    if (reason === undefined || record.type === 'request') return
    if (record.type !== 'command') this.explain(record, reason)
    else if (record.expected !== true) this.explain(record, `${reason} (${record.errno})`)
  }

  /** Explains the failure of a call for which there is no record. */
  explain(program: Observed, reason: string): void {
    if (this.#settings.explain) this.#explainer.explain(program, reason)
  }

  #write(record: ProgramRecord): void {
    this.#trace?.line(this.#settings.json ? JSON.stringify(record) : textOf(record))
  }

  /** Writes the counts: the last program has ended. */
  end(adapters: readonly Counted[]): void {
    this.#explainer.end()
    const { counters, json } = this.#settings
    if (counters !== null || (json && this.#trace !== null)) {
      const record: CountersRecord = {
        type: 'counters',
        timeUs: nowUs(),
        adapters: adapters.map(({ name, device, counters: own }) => ({
          ...{ name, device },
          ...this.#counting.ofAdapter(name),
          counters: own,
        })),
        programs: this.#counting.programs,
      }
      const output = this.#trace !== null && json ? this.#trace : new Output(counters ?? standardError)
      if (json) output.line(JSON.stringify(record))
      else for (const line of countsTable(record)) output.line(line)
    }
  }
}
