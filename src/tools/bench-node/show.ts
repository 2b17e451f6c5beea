/** The output of a run: a table, or one JSON document. */
import { paint, print, table } from '../../cli/terminal/index.ts'
import type { NodeResults, NodeSet, Setting } from '../../report/index.ts'
import { settingText, varying } from '../bench-kit/index.ts'

/** Settings that each run of the document has. */
const always = ['node', 'mode', 'values', 'rate'] as const

/** Returns the other settings in which runs differ. Whether threads or processes are used follows from the node-type. */
function extraSettings(sets: readonly NodeSet[]): string[] {
  return varying(sets.map(({ settings }) => settings)).filter(
    (key) => key !== 'ends' && !always.includes(key as 'node'),
  )
}

const wasMeasured = ({ error }: NodeSet): boolean => error === undefined || error === 'interrupted'

/** Returns the document that `--json` prints. */
export function nodeDocument(results: NodeResults): object {
  const sets = results.sets.filter(wasMeasured)
  const keys = [...always, ...extraSettings(sets)]
  const runs = sets.map(({ settings, lat, missed, missing, notTransmitted }) => {
    const { count, min, p10, median, p90, p99, max } = lat
    return {
      settings: Object.fromEntries(keys.flatMap((key) => (key in settings ? [[key, settings[key] as Setting]] : []))),
      latency: count === 0 ? null : { count, min, p10, median, p90, p99, max },
      ...{ missed, missing, notTransmitted },
    }
  })
  return { runs, unit: results.unit }
}

export function showNodes(results: NodeResults, outDir: string): void {
  const sets = results.sets.filter(wasMeasured)
  if (sets.length > 0) {
    const extra = extraSettings(sets)
    const us = (ns: number, count: number): string => (count === 0 ? '–' : (ns / 1000).toFixed(2))
    const rows = sets.map(({ settings, lat, missed, missing, notTransmitted }) => [
      ...[...always, ...extra].map((key) => settingText(settings[key])),
      ...[lat.p10, lat.median, lat.p90, lat.p99, lat.max].map((ns) => us(ns, lat.count)),
      ...[missed, missing, notTransmitted],
    ])
    const figures = ['p10', 'median', 'p90', 'p99', 'max', 'missed', 'missing', 'lost']
    print(
      paint('bold', 'Latency from generation to receipt, µs') +
        paint(
          'dim',
          ' (missed: steps of the generator; missing: in the output, with these; lost: generated, and not there)',
        ),
    )
    print(table([...always, ...extra, ...figures], rows))
  }
  print(`\nResults: ${outDir}`)
  print(paint('dim', `Report:  verbena report ${outDir}`))
}
