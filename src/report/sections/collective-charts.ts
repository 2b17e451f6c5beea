/** Charts of `verbena bench collective`: figures 6 to 10 of Viertel (2006) with the times of this run. */
import { medianOf } from '../../stats/index.ts'
import type { Line, LineSpec } from '../charts/spec.ts'
import { formatBytes } from '../format.ts'
import type { PlotSettings } from '../results.ts'
import { compareSettings, groupBy, keyOf, settingNames, settingsOf } from '../settings.ts'
import { type CollectiveEntry, kindOf, numberOf, roundTrips } from './collective-set.ts'

/** Sizes of figures 6, 7 and 8, and of 9 and 10, of the paper. */
const FIGURE_SIZES = [1, 2048, 65_536, 1 << 20]
const READ_SIZES = [1, 2048, 32_768]
/** End of the paper's first range; the second one has all processes. */
const FEW = 15

/** Returns the sizes of the figures that were measured; if none was, the smallest and the largest. */
function chosenSizes(entries: readonly CollectiveEntry[], wanted: readonly number[]): number[] {
  const sizes = [...new Set(entries.map((entry) => numberOf(entry, 'size')))].sort(compareSettings)
  const found = sizes.filter((size) => wanted.includes(size))
  return found.length > 0 ? found : [...new Set([sizes[0]!, sizes.at(-1)!])]
}

interface Over {
  key: 'size' | 'processes' | 'posts'
  name: string
  title: string
  subtitle: string
}

function chart(
  entries: readonly CollectiveEntry[],
  { key, name, title, subtitle }: Over,
  label: (entry: CollectiveEntry) => string,
  plot: PlotSettings,
): LineSpec[] {
  const lines = [...groupBy(entries, label)].map(
    ([text, group]): Line => ({
      label: text,
      settings: settingsOf(group[0]!, ['transport', 'mode', 'device']),
      points: [...groupBy(group, (entry) => keyOf(entry, [key])).values()].map((sets) => ({
        x: numberOf(sets[0]!, key),
        y: medianOf(sets.map(({ set }) => set.time.min)),
      })),
    }),
  )
  if (lines.every(({ points }) => points.length < 2)) return []
  const bytes = key === 'size'
  return [
    {
      ...{ kind: 'lines', name, title, subtitle, over: key, lines },
      xName: bytes ? 'message size' : key === 'posts' ? 'messages in a step' : 'remote processes',
      x: bytes ? 'bytes' : 'plain',
      ...{ yName: 'best time', y: 'ns', width: plot.figure.width, height: plot.figure.height },
      ...{ logarithmic: bytes || plot.medians.logarithmic, linearY: false },
    },
  ]
}

/** Splits entries by device and run into charts of their own, since one chart would have too many lines. */
function apart(entries: readonly CollectiveEntry[]): { where: string; part: CollectiveEntry[]; mark: string }[] {
  const groups = [...groupBy(entries, (entry) => `${entry.run.label}\n${entry.set.settings.device}`).values()]
  return groups.map((part, index) => ({
    part,
    where: groups.length > 1 ? ` (${part[0]!.run.label}, ${part[0]!.set.settings.device})` : '',
    mark: groups.length > 1 ? `-${index + 1}` : '',
  }))
}

/** Draws the best round trip against the number of processes, in both ranges, and against the size. */
export function roundTripCharts(entries: readonly CollectiveEntry[], plot: PlotSettings): LineSpec[] {
  return apart(roundTrips(entries)).flatMap(({ part, where, mark }) => {
    const { varying } = settingNames(part)
    const label = (entry: CollectiveEntry): string => kindOf(entry, varying)
    const most = Math.max(...part.map((entry) => numberOf(entry, 'processes')))
    const overProcesses = chosenSizes(part, FIGURE_SIZES).flatMap((size) => {
      const sized = part.filter((entry) => numberOf(entry, 'size') === size)
      const ranges = most > FEW ? [FEW, most] : [most]
      return ranges.flatMap((last) =>
        chart(
          sized.filter((entry) => numberOf(entry, 'processes') <= last),
          {
            key: 'processes',
            name: `round-trip-${size}${ranges.length > 1 ? `-to-${last}` : ''}${mark}`,
            title: `Best round trip of ${formatBytes(size)} against remote processes${where}`,
            subtitle: 'Time at rank 0, by the number of remote processes',
          },
          label,
          plot,
        ),
      )
    })
    const overSize = chart(
      part.filter((entry) => numberOf(entry, 'processes') === most),
      {
        key: 'size',
        name: `round-trip-sizes${mark}`,
        title: `Best round trip with ${most} remote ${most === 1 ? 'process' : 'processes'} against message size${where}`,
        subtitle: 'Time at rank 0, by the number of remote processes',
      },
      label,
      plot,
    )
    return [...overProcesses, ...overSize]
  })
}

const READ_PARTS: Readonly<Record<string, string>> = {
  MEA_RTT_TIME: 'RTT',
  RDMART_1N: '1:n read time',
  RDMART_N1: 'n:1 read time',
}

/** Draws READ with its parts. */
export function readCharts(entries: readonly CollectiveEntry[], plot: PlotSettings): LineSpec[] {
  const reads = entries.filter(
    ({ set }) => set.settings.mode === 'READ' && String(set.settings.measure) in READ_PARTS && set.time.count > 0,
  )
  return apart(reads).flatMap(({ part, where, mark }) => {
    const { varying } = settingNames(part)
    const label = (entry: CollectiveEntry): string =>
      kindOf(entry, varying).replace('RC READ', READ_PARTS[String(entry.set.settings.measure)]!)
    return chosenSizes(part, READ_SIZES).flatMap((size) =>
      chart(
        part.filter((entry) => numberOf(entry, 'size') === size),
        {
          key: 'processes',
          name: `read-${size}${mark}`,
          title: `Best times of RDMA READ of ${formatBytes(size)} against remote processes${where}`,
          subtitle: '1:n: rank 0 reads from all; n:1: all read from rank 0; each by the number of remote processes',
        },
        label,
        plot,
      ),
    )
  })
}

const CALLS: Readonly<Record<string, string>> = {
  MEA_POST_SR_CPU_OVERHEAD: 'Posting a send request',
  MEA_POST_RR_CPU_OVERHEAD: 'Posting a receive request',
  MEA_POLL_CQ_CPU_OVERHEAD: 'A look into the completion queue',
  MEA_SEND_TIME: 'Until all sends of a step are complete',
}

/** Draws scenario 1: time of calls against the number of messages in a step; of the smallest size. */
export function callCharts(entries: readonly CollectiveEntry[], plot: PlotSettings): LineSpec[] {
  const calls = entries.filter(({ set }) => String(set.settings.measure) in CALLS && set.time.count > 0)
  return apart(calls).flatMap(({ part, where, mark }) => {
    const size = Math.min(...part.map((entry) => numberOf(entry, 'size')))
    const { varying } = settingNames(part)
    return Object.entries(CALLS).flatMap(([measure, title]) =>
      chart(
        part.filter(({ set }) => set.settings.measure === measure && set.settings.size === size),
        {
          key: 'posts',
          name: `${measure.toLowerCase().replaceAll('_', '-')}${mark}`,
          title: `${title}, ${formatBytes(size)}${where}`,
          subtitle: measure,
        },
        (entry) => kindOf(entry, varying),
        plot,
      ),
    )
  })
}
