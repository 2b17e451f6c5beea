/**
 * A session: RDMA data of a host over a period, in a folder.
 *
 *     session.json     what was collected, where and when; what carries RoCE, and the traces with their counts
 *     counters.jsonl   a reading of all counters on each line, with rates
 *     trace.pcapng     packets, or trace-00001.pcapng and so on
 */
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { arch, hostname, release } from 'node:os'
import { basename, join } from 'node:path'
import { sessionFile, sessionKind, sessionTraceName } from '../files/index.ts'
import { HostAnonymiser } from './anonymous-host.ts'
import type { TraceResult } from './collect-trace.ts'
import { exactJson, readingDocument } from './formats.ts'
import { readL2 } from './l2.ts'
import { RateTracker } from './rates.ts'
import { type HostOptions, type HostReading, readHost } from './snapshot.ts'

const countersFile = 'counters.jsonl'

export interface SessionAbout {
  /** Version of Verbena. */
  readonly version: string
  /** Command line. */
  readonly command: readonly string[]
  /** Key of the trace: the folder then has no host name, no command line and no unmapped address. */
  readonly anonymiseKey?: Uint8Array
}

export class SessionFolder {
  readonly path: string
  readings = 0
  readonly #host: HostOptions
  readonly #about: Omit<SessionAbout, 'anonymiseKey'>
  readonly #anonymiser: HostAnonymiser | undefined
  readonly #started = new Date()
  readonly #tracker = new RateTracker()
  #last: HostReading | undefined

  /** Creates the folder; throws the system's error, or EEXIST if there is a session in it. */
  constructor(path: string, host: HostOptions, { anonymiseKey, ...about }: SessionAbout) {
    this.path = path
    this.#host = host
    this.#about = about
    if (anonymiseKey !== undefined) this.#anonymiser = new HostAnonymiser(anonymiseKey)
    mkdirSync(path, { recursive: true })
    if (readdirSync(path).some((name) => name === sessionFile || name === countersFile || sessionTraceName.test(name)))
      throw Object.assign(new Error(`${path} has a session already: choose another folder`), { code: 'EEXIST' })
    this.#describe(undefined, undefined)
  }

  /** Returns the path of the trace; `end` is `.gz`, `.zst` or empty. */
  tracePath(end: string): string {
    return join(this.path, `trace.pcapng${end}`)
  }

  /** Reads all counters, and adds them to the folder. */
  async read(): Promise<HostReading> {
    const reading = await readHost(this.#host)
    const rates = this.#tracker.add(reading)
    const kept = this.#anonymiser?.reading(reading) ?? reading
    appendFileSync(join(this.path, countersFile), this.#line(readingDocument(kept, rates)))
    this.readings++
    this.#last = reading
    return reading
  }

  /** Ends the session. `failure`: the reason why there is no trace. */
  end(trace: TraceResult | undefined, failure: string | undefined): void {
    this.#describe(trace, failure)
  }

  #describe(trace: TraceResult | undefined, failure: string | undefined): void {
    const { root } = this.#host
    const all = readL2(root === undefined ? {} : { root })
    const { ports, interfaces, ...l2 } = this.#anonymiser?.l2(all) ?? all
    const named = this.#anonymiser === undefined
    const { version, command } = this.#about
    const document = {
      kind: sessionKind,
      ...{ version, command: named ? command : undefined, anonymised: !named },
      host: {
        name: named ? hostname() : undefined,
        platform: process.platform,
        kernel: release(),
        architecture: arch(),
        node: process.version,
      },
      started: this.#started.toISOString(),
      ended: trace === undefined && this.#last === undefined ? undefined : new Date().toISOString(),
      counters: { file: countersFile, readings: this.readings },
      trace:
        trace === undefined
          ? undefined
          : { ...trace, files: trace.files.map(({ path, packets }) => ({ path: basename(path), packets })) },
      traceFailure: failure,
      devices: this.#last?.devices.map(({ name, driver, firmware }) => ({ name, driver, firmware })),
      l2: {
        ports,
        interfaces: interfaces.map(({ dcb, ...one }) => ({
          ...one,
          dcb: dcb === undefined ? undefined : { ...dcb, dscp: Object.fromEntries(dcb.dscp) },
        })),
        ...l2,
      },
    }
    writeFileSync(join(this.path, sessionFile), this.#line(document))
  }

  #line(document: object): string {
    const text = exactJson(document)
    return `${this.#anonymiser?.text(text) ?? text}\n`
  }
}
