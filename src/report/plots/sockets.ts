/**
 * Charts of the socket benchmark over the message size: throughput, and the cores that both ends kept busy, with
 * rsockets and TCP of the kernel in each. Repetitions are one point: their median, and bars from the smallest to the largest.
 */

import { medianOf } from '../../stats/index.ts'
import { MAX_LINES } from '../charts/lines.ts'
import type { Line, LineSpec } from '../charts/spec.ts'
import type { Quantity } from '../format.ts'
import type { PlotSettings } from '../results.ts'
import {
  compareSettings,
  groupBy,
  keyOf,
  labelOf,
  type SocketEntry,
  settingNames,
  settingsOf,
  sharedLabel,
} from '../settings.ts'

export function socketCharts(entries: readonly SocketEntry[], plot: PlotSettings): LineSpec[] {
  const measured = entries.filter((entry) => entry.set.messages > 0)
  const streams = measured.filter((entry) => entry.set.settings.test === 'stream')
  const requests = measured.filter((entry) => entry.set.settings.test === 'rr')
  return [
    ...charts(streams, plot, {
      name: 'socket-throughput',
      title: 'TCP_STREAM: throughput over message size',
      yName: 'bit/s',
      y: 'bit/s',
      values: [{ label: '', of: ({ set }) => set.bytesPerSecond * 8 }],
    }),
    ...(plot.medians.logarithmic
      ? charts(streams, plot, {
          name: 'socket-throughput-linear',
          title: 'TCP_STREAM: throughput over message size, linear',
          yName: 'bit/s',
          linear: true,
          y: 'bit/s',
          values: [{ label: '', of: ({ set }) => set.bytesPerSecond * 8 }],
        })
      : []),
    ...charts(streams, plot, {
      name: 'socket-cpu',
      title: 'TCP_STREAM: CPU use of both ends over message size',
      yName: 'cores',
      linear: true,
      y: 'cores',
      values: [
        { label: 'client', of: ({ set }) => set.cpu.client },
        { label: 'server', of: ({ set }) => set.cpu.server },
      ],
    }),
    ...charts(requests, plot, {
      name: 'socket-round-trips',
      title: 'TCP_RR: time of a transaction over message size',
      yName: 'time',
      y: 'ns',
      values: [{ label: '', of: ({ set }) => 1e9 / set.messagesPerSecond }],
    }),
  ]
}

interface Spec {
  name: string
  title: string
  yName: string
  linear?: boolean
  y: Quantity
  values: { label: string; of: (entry: SocketEntry) => number | null }[]
}

function charts(entries: readonly SocketEntry[], plot: PlotSettings, spec: Spec): LineSpec[] {
  if (new Set(entries.map((entry) => entry.set.settings.size)).size < 2) return []
  const keys = lineKeys(entries)
  const lines: Line[] = []
  for (const group of groupBy(entries, (entry) => keyOf(entry, keys)).values()) {
    for (const { label, of } of spec.values) {
      const points = pointsOf(group, of)
      const name = [socketLabel(group[0]!, keys), label].filter((part) => part !== '').join(', ')
      if (points.length > 0) lines.push({ label: name, settings: settingsOf(group[0]!, keys), points })
    }
  }
  const count = Math.ceil(lines.length / MAX_LINES)
  const each = Math.ceil(lines.length / count)
  return Array.from({ length: count }, (_, index) => ({
    kind: 'lines',
    name: count > 1 ? `${spec.name}-${index + 1}` : spec.name,
    title: count > 1 ? `${spec.title} (${index + 1} of ${count})` : spec.title,
    subtitle: sharedLabel(entries, ['test', 'size', 'transport']),
    over: 'size',
    xName: 'message size',
    yName: spec.yName,
    x: 'bytes',
    y: spec.y,
    width: plot.figure.width,
    height: plot.figure.height,
    lines: lines.slice(index * each, (index + 1) * each),
    logarithmic: plot.medians.logarithmic,
    linearY: spec.linear === true,
  }))
}

/** Returns the settings that distinguish lines, which always include the transport. */
export function lineKeys(entries: readonly SocketEntry[]): string[] {
  const { varying } = settingNames(entries)
  const devices = new Set(entries.flatMap((entry) => entry.set.settings.device ?? []))
  const several = (key: string): boolean => {
    if (key === 'device') return devices.size > 1
    const values = new Set(entries.flatMap((entry) => entry.set.settings[key] ?? []))
    return key === 'run' || values.size > 1
  }
  const others = varying.filter((key) => !['test', 'transport', 'size', 'repeat'].includes(key) && several(key))
  return ['transport', ...others]
}

/** Returns "rsocket roce:127.0.0.1,roce:127.0.0.2, poll busy" or "kernel TCP". */
export function socketLabel(entry: SocketEntry, keys: readonly string[]): string {
  const tcp = entry.set.settings.transport === 'tcp'
  const own = keys.filter((key) => key !== 'transport')
  const rest = labelOf(entry, own)
  const name = tcp ? (entry.set.via === 'node:net' ? 'node:net' : 'kernel TCP') : 'rsocket'
  const device = keys.includes('device') && !tcp
  return [name, rest].filter((part) => part !== '').join(device ? ' ' : ', ')
}

function pointsOf(group: readonly SocketEntry[], of: (entry: SocketEntry) => number | null): Line['points'] {
  const places = [...groupBy(group, (entry) => keyOf(entry, ['size'])).values()]
  return places
    .map((sets) => ({ size: sets[0]!.set.settings.size!, values: sets.flatMap((entry) => of(entry) ?? []) }))
    .filter(({ values }) => values.length > 0)
    .map(({ size, values }) => ({
      x: size,
      y: medianOf(values),
      ...(values.length > 1 ? { low: Math.min(...values), high: Math.max(...values) } : {}),
    }))
    .sort((a, b) => compareSettings(a.x, b.x))
}
