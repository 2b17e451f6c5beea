/** The output of the commands: tables, or one JSON document. */

import { paint, print, table } from '../../cli/terminal/index.ts'
import { type Decision, type Measurement, tune } from '../../collectives/tune.ts'
import type { AlgorithmResults, AlgorithmSet } from '../../report/index.ts'
import type { AlgorithmSettings } from './settings.ts'

export function settingsOf({ settings }: AlgorithmSet): AlgorithmSettings {
  return settings as unknown as AlgorithmSettings
}

export function measurementsOf(sets: readonly AlgorithmSet[]): Measurement[] {
  return sets.map((set) => {
    const { collective, algorithm, ranks, size } = settingsOf(set)
    const [lowNs, highNs] = set.interval
    return { collective, algorithm, ranks, bytes: size, medianNs: set.time.median, lowNs, highNs }
  })
}

/** Returns the document that `measure --json` prints. */
export function algorithmDocument(results: AlgorithmResults): object {
  const runs = results.sets.map((set) => {
    const { collective, algorithm, ranks, size } = settingsOf(set)
    const { count, min, median, p90, p99, max } = set.time
    return {
      settings: { collective, algorithm, ranks, size },
      time: { count, min, mean: set.mean, median, p90, p99, max },
      interval: set.interval,
    }
  })
  return { runs, unit: results.unit }
}

const us = (ns: number): string => (ns / 1000).toFixed(ns < 1e5 ? 2 : 0)

/** Prints each number of ranks, collective and size in a line, its algorithms from the fastest to the slowest. */
export function showAlgorithms({ sets }: AlgorithmResults, outDir: string): void {
  const measured = measurementsOf(sets)
  const rows = tune(measured).decisions.map(({ collective, ranks, bytes, standard }) => {
    const here = measured
      .filter((one) => one.collective === collective && one.ranks === ranks && one.bytes === bytes)
      .sort((a, b) => a.medianNs - b.medianNs)
    const texts = here.map(
      ({ algorithm, medianNs }) => `${algorithm}${algorithm === standard ? '*' : ''} ${us(medianNs)}`,
    )
    return [collective, String(ranks), String(bytes), texts.join(', ')]
  })
  print(paint('bold', 'Medians, µs') + paint('dim', ' (of each call the longest time at any rank; *: the default)'))
  print(table(['collective', 'ranks', 'bytes', 'from the fastest to the slowest'], rows))
  print(`\nResults: ${outDir}`)
  print(paint('dim', `Table:   verbena collective tune ${outDir}`))
  print(paint('dim', `Report:  verbena report ${outDir}`))
}

export const changed = ({ standard, chosen }: Decision): boolean => standard !== chosen

/** Returns the ratio of the times without and with the table; null where the default was not measured. */
export function gain({ standardNs, chosenNs }: Decision): number | null {
  return standardNs === null ? null : standardNs / chosenNs
}

/** Prints the points at which the table selects another algorithm. */
export function showTuning(decisions: readonly Decision[], file: string): void {
  const changes = decisions.filter(changed)
  if (changes.length === 0)
    print(`No other algorithm is faster than the default at any of ${decisions.length} points, beyond the noise.`)
  else {
    const rows = changes.map((decision) => {
      const { collective, ranks, bytes, standard, standardNs, chosen, chosenNs } = decision
      const times = [standardNs === null ? '–' : us(standardNs), us(chosenNs), gain(decision)?.toFixed(2) ?? '–']
      return [collective, String(ranks), String(bytes), standard, times[0]!, chosen, times[1]!, times[2]!]
    })
    print(paint('bold', 'What changes') + paint('dim', ' (medians, µs)'))
    print(table(['collective', 'ranks', 'bytes', 'default', 'µs', 'instead', 'µs', 'gain'], rows))
    const gains = changes.map(gain).filter((one) => one !== null)
    const mean = Math.exp(gains.reduce((sum, one) => sum + Math.log(one), 0) / gains.length)
    print(
      `\n${changes.length} of ${decisions.length} points change${gains.length > 0 ? `; there, calls are ${mean.toFixed(2)} times as fast (geometric mean)` : ''}.`,
    )
  }
  print(`Table:   ${file}`)
  print(paint('dim', `Use:     VERBENA_TABLE=${file}, or the option table of createCommunicator`))
}
