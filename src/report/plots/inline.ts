/**
 * Δt_inline: what sending inline would save, from sets that differ only in where the timestamp is taken.
 *
 * Δt_inline ≈ median(t_lat with t_send) − median(t_lat with t_subm). t_lat is t_recv minus the timestamp, and
 * t_send is later than t_subm, so the first median is the smaller one; the time saved is the difference the other way.
 */

import { type Chart, COLOURS, FAINT, fitted, GRID, INK, textWidth } from '../charts/svg.ts'
import { formatCount } from '../format.ts'
import type { PlotSettings } from '../results.ts'
import { groupBy, keyOf, type LatencyEntry, labelOf, RUN, settingNames } from '../settings.ts'

export interface InlinePair {
  label: string
  /** Median latencies, nanoseconds. */
  submit: number
  send: number
  /** submit − send: the time that inline sending saves, as estimated from the two. */
  saved: number
  /** Median of the set that really was sent inline, with all else equal; null when there is none. */
  inline: number | null
}

export function inlinePairs(entries: readonly LatencyEntry[]): InlinePair[] {
  const measured = entries.filter((entry) => entry.set.lat.count > 0)
  const keys = [...new Set(measured.flatMap((entry) => Object.keys(entry.set.settings)))]
  const same = [...keys.filter((key) => key !== 'stamp'), RUN]
  const withoutInline = same.filter((key) => key !== 'inline')
  const found = [...groupBy(measured, (entry) => keyOf(entry, same)).values()].flatMap((group) => {
    const submit = group.find((entry) => entry.set.settings.stamp === 'submit')
    const send = group.find((entry) => entry.set.settings.stamp === 'send')
    return submit && send ? [{ submit, send }] : []
  })
  // Only what tells these pairs apart: sets without a partner vary in more.
  const { varying } = settingNames(found.length > 1 ? found.map(({ submit }) => submit) : measured)
  const named = varying.filter((key) => key !== 'stamp')
  return found.map(({ submit, send }) => {
    const inline =
      submit.set.settings.inline === false
        ? measured.find(
            ({ run, set }) =>
              set.settings.inline === true &&
              set.settings.stamp === 'submit' &&
              keyOf({ run, set }, withoutInline) === keyOf(submit, withoutInline),
          )
        : undefined
    return {
      label: labelOf(submit, named) || 'this set',
      submit: submit.set.lat.median,
      send: send.set.lat.median,
      saved: submit.set.lat.median - send.set.lat.median,
      inline: inline?.set.lat.median ?? null,
    }
  })
}

const MAX_BARS = 16
const BAR_ROW = 40

export function inlineChart(pairs: readonly InlinePair[], plot: PlotSettings): Chart {
  const shown = pairs.slice(0, MAX_BARS)
  const { width } = plot.figure
  const labelWidth = Math.min(width * 0.45, Math.max(60, ...shown.map(({ label }) => textWidth(label))))
  const title = 'Median latency with the timestamp taken at submission and at sending'
  const bar = (name: string, colour: string, values: number[]) => ({
    type: 'bar' as const,
    name,
    data: values,
    itemStyle: { color: colour },
    barGap: '10%',
    barWidth: 12,
    silent: true,
    label: {
      show: true,
      position: 'right' as const,
      color: INK,
      fontSize: 11,
      formatter: (item: { value?: unknown }) => formatCount(Number(item.value)),
    },
  })
  const names = ['stamp submit', 'stamp send']
  return {
    name: 'inline',
    title,
    width,
    height: 130 + shown.length * BAR_ROW,
    option: {
      title: {
        text: title,
        left: 16,
        top: 10,
        textStyle: { fontSize: 15, color: INK, width: width - 40, overflow: 'truncate' },
      },
      legend: { data: names, left: 16, top: 36, padding: 0, itemHeight: 10, textStyle: { color: INK, fontSize: 12 } },
      grid: { left: labelWidth + 28, right: 70, top: 66, bottom: 54, containLabel: false },
      xAxis: {
        type: 'value',
        min: 0,
        name: 'median latency, ns',
        nameLocation: 'middle',
        nameGap: 28,
        nameTextStyle: { color: INK },
        axisLabel: { color: FAINT, formatter: formatCount },
        splitLine: { lineStyle: { color: GRID } },
      },
      yAxis: {
        type: 'category',
        inverse: true,
        data: shown.map((pair) => fitted(pair.label, labelWidth)),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: FAINT } },
        axisLabel: { color: INK, fontSize: 12, interval: 0 },
      },
      series: [
        bar(
          names[0]!,
          COLOURS[0]!,
          shown.map((pair) => pair.submit),
        ),
        bar(
          names[1]!,
          COLOURS[1]!,
          shown.map((pair) => pair.send),
        ),
      ],
    },
  }
}
