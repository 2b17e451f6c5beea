/** Rates of all counters of a host, from one reading to the next. */
import { type Change, perSecond, Series, type Step } from '../counters/index.ts'
import type { Reading } from './infiniband.ts'
import type { HostReading } from './snapshot.ts'

export interface Rate {
  readonly step: Step
  /** Rate in units of the vocabulary; undefined if the readings do not determine it. */
  readonly perSecond: number | undefined
}

/** Rates of one reading, for each of its counters. */
export type Rates = ReadonlyMap<Reading, Rate>

export class RateTracker {
  #series = new Map<string, Series>()

  /** Adds a reading. A device that disappears and returns starts again. */
  add({ devices, atMs }: HostReading): Rates {
    const rates = new Map<Reading, Rate>()
    const series = new Map<string, Series>()
    for (const device of devices)
      for (const port of device.ports)
        for (const reading of port.readings) {
          const key = JSON.stringify([device.name, port.port, reading.counter, reading.priority])
          const one = this.#series.get(key) ?? new Series()
          series.set(key, one)
          const { bits, overflow, scale } = reading.mapping
          const found: Change = one.add(reading.raw, atMs, { bits, overflow, lifespanMs: reading.lifespanMs })
          const rate = perSecond(found)
          rates.set(reading, { step: found.step, perSecond: rate === undefined ? undefined : rate * scale })
        }
    this.#series = series
    return rates
  }
}
