/** Generated traffic: `verbena traffic`. Headline, requested and generated traffic, completion times, rates, tables. */
import { significant } from '../../text/index.ts'
import type { Figures } from '../../traffic/index.ts'
import { formatCount, formatNs, formatRate, formatShare } from '../format.ts'
import { type Headline, pairText } from '../page/headline.ts'
import { section } from '../page/page.ts'
import { type Cell, constantSettings, count, type Head, NONE, table } from '../page/tables.ts'
import { defaultPlotSettings } from '../plot-settings.ts'
import { resultsSchema } from '../schema-parts.ts'
import type { Canvas, ReportSection } from '../section.ts'
import { completionCharts, generatedCharts, seriesCharts, trafficName } from './traffic-charts.ts'
import { type TrafficEntry, type TrafficResults, trafficSetSchema } from './traffic-set.ts'

function headline(entries: readonly TrafficEntry[]): Headline {
  const [first] = entries
  if (first === undefined) return { sentence: 'No traffic was sent.', figures: [] }
  if (entries.length > 1) {
    const parts = entries.map((entry) => `${bits(entry.set.reached.bitsPerSecond)} in ${trafficName(entry, entries)}`)
    return { sentence: `Reached: ${parts.join(', ')}.`, figures: [] }
  }
  const { all, asked, reached, sizes, generated, seconds, clients } = first.set
  const whole = all.done === asked.requests ? 'All' : `${formatCount(all.done)} of`
  const from = clients.length > 1 ? ` of ${clients.length} clients` : ''
  const [small] = Object.entries(sizes).filter(([, figures]) => figures.fct !== null)
  const trouble = (value: number): string =>
    value === 0 ? '0' : `${formatCount(value)} (${formatShare(value / asked.requests)})`
  return {
    sentence: `${whole} ${formatCount(asked.requests)} requests${from} are complete, in ${formatNs(seconds * 1e9)}: ${bits(reached.bitsPerSecond)} of ${bits(asked.bitsPerSecond)} asked for.`,
    figures: [
      ['Requests asked / reached', `${rate(asked.perSecond)} / ${rate(reached.perSecond)}/s`],
      ...(small?.[1].fct
        ? [[`FCT p50 / p99, ${small[0]}`, pairText(small[1].fct.p50, small[1].fct.p99, ' / ')] as [string, string]]
        : []),
      ...(all.slowdown ? [['Slowdown p50 / p99', pair(all.slowdown.p50, all.slowdown.p99)] as [string, string]] : []),
      ['Lost', trouble(all.lost)],
      ['Failed', trouble(all.failed)],
      ...(generated.sizes?.ks == null
        ? []
        : [['Sizes: off from those asked', `at most ${formatShare(generated.sizes.ks)}`] as [string, string]]),
    ],
  }
}

function parts(entries: readonly TrafficEntry[], canvas: Canvas): string[] {
  const { plot } = canvas
  for (const entry of entries)
    for (const [server, why] of Object.entries({ ...entry.set.unreachable, ...entry.set.failures }))
      canvas.notes.push(`${entries.length > 1 ? `${trafficName(entry, entries)}: ` : ''}${server}: ${why}`)
  const several = entries.length > 1
  return [
    section(
      'traffic-rates',
      'Asked and reached',
      constantSettings(entries),
      ratesTable(entries),
      canvas.charts(seriesCharts(entries, plot)),
    ),
    section(
      'traffic-completion',
      'Flow completion times',
      '<p class="faint">From when a request was due until its flow was complete. Slowdown: that over the time of the fastest small request to the server plus what the size takes at the bandwidth of the configuration.</p>',
      canvas.charts(completionCharts(entries, plot)),
    ),
    section(
      'traffic-generated',
      'What was generated',
      '<p class="faint">Shares of all that are at most so large or long. Gaps are those of the schedule, between requests that are due one after the other.</p>',
      canvas.charts(generatedCharts(entries, plot)),
    ),
    section(
      'traffic-tables',
      'By size, verb, type and server',
      '<p class="faint">Times are flow completion times (FCT). Press a heading to sort.</p>',
      ...(['sizes', 'verbs', 'types', 'servers'] as const).map((key) => {
        const title = { sizes: 'Size', verbs: 'Verb', types: 'Type', servers: 'Server' }[key]
        const rows = entries.flatMap((entry) =>
          Object.entries(entry.set[key]).map(([name, figures]): [string, Figures, number] => [
            several ? `${name}, ${trafficName(entry, entries)}` : name,
            figures,
            entry.set.seconds,
          ]),
        )
        return rows.length === 0 ? '' : `<h3>${title}</h3>\n${figuresTable(title.toLowerCase(), rows)}`
      }),
    ),
  ]
}

function ratesTable(entries: readonly TrafficEntry[]): string {
  const number = (text: string): Head => ({ text, number: true })
  const heads = [
    { text: 'run' },
    ...['requests', 'complete', 'lost', 'failed', 'asked', 'reached', 'asked/s', 'reached/s', 'seconds'].map(number),
    number('latest'),
  ]
  const rows = entries.map((entry): Cell[] => {
    const { set } = entry
    const bit = (value: number): Cell => ({ text: bits(value), value, number: true })
    return [
      { text: trafficName(entry, entries) },
      ...[set.asked.requests, set.all.done, set.all.lost, set.all.failed].map(count),
      ...[set.asked.bitsPerSecond, set.reached.bitsPerSecond].map(bit),
      ...[set.asked.perSecond, set.reached.perSecond].map(
        (value): Cell => ({ text: rate(value), value, number: true }),
      ),
      { text: set.seconds.toFixed(2), value: set.seconds, number: true },
      { text: formatNs(set.latestNs), value: set.latestNs, number: true },
    ]
  })
  return table(heads, rows, 'traffic-rates-table')
}

const TIMES = { p50: 'FCT p50', p99: 'p99', p999: 'p99.9', max: 'max' } as const
const MORE_TIMES = { mean: 'FCT mean', min: 'min', p90: 'p90' } as const
const SLOWDOWNS = { p50: 'slowdown p50', p99: 'slowdown p99' } as const

function figuresTable(what: string, rows: readonly [string, Figures, number][]): string {
  const number = (text: string): Head => ({ text, number: true })
  const extra = (text: string): Head => ({ text, number: true, extra: true })
  const heads = [
    { text: what },
    ...['done', 'lost', 'failed', 'bit/s'].map(number),
    ...Object.values(TIMES).map(number),
    ...Object.values(SLOWDOWNS).map(number),
    ...['bytes', ...Object.values(MORE_TIMES), 'slowdown max'].map(extra),
  ]
  const figure = (value: number | undefined, text: (value: number) => string): Cell =>
    value === undefined ? NONE : { text: text(value), value, number: true }
  const cells = rows.map(([name, { done, lost, failed, bytes, fct, slowdown }, seconds], i): Cell[] => {
    const bps = seconds > 0 ? (8 * bytes) / seconds : 0
    const time = (key: keyof NonNullable<Figures['fct']>): Cell => figure(fct?.[key], formatNs)
    const slow = (key: keyof NonNullable<Figures['slowdown']>): Cell =>
      figure(slowdown?.[key], (times) => times.toFixed(2))
    return [
      // Sizes are in their order, not in alphabetical order.
      { text: name, ...(what === 'size' && { value: i }) },
      ...[done, lost, failed].map(count),
      { text: bits(bps), value: bps, number: true },
      ...(Object.keys(TIMES) as (keyof typeof TIMES)[]).map(time),
      ...(Object.keys(SLOWDOWNS) as (keyof typeof SLOWDOWNS)[]).map(slow),
      count(bytes),
      ...(Object.keys(MORE_TIMES) as (keyof typeof MORE_TIMES)[]).map(time),
      slow('max'),
    ]
  })
  return table(heads, cells, `traffic-${what}`)
}

function bits(perSecond: number): string {
  return formatRate(perSecond, 'bit/s')
}

function rate(perSecond: number): string {
  return formatRate(perSecond)
}

function pair(low: number, high: number): string {
  return `${significant(low, 3)} / ${significant(high, 3)}`
}

export const traffic: ReportSection<TrafficResults> = {
  tool: 'traffic',
  schema: resultsSchema<TrafficResults>('traffic', 'ns', trafficSetSchema),
  plot: defaultPlotSettings,
  headline,
  parts,
}
