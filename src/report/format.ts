/** Numbers and sizes as people read them. */
import { inUnits, timeText, timeUnits, type Unit } from '../text/index.ts'

const grouped = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })

/** 12,345 */
export function formatCount(value: number): string {
  return grouped.format(value)
}

/** A duration given in nanoseconds in the unit that suits it: "312 ns", "10.4 µs", "2.10 ms", "8.04 s". */
export function formatNs(ns: number): string {
  return timeText(ns)
}

/** As formatNs, for ticks of an axis: "200 ns", "50 µs", "1 s". */
export function formatNsTick(ns: number): string {
  return ns === 0 ? '0' : inUnits(round(ns, 3), timeUnits, String).replace(zeros, '')
}

/** As formatNs, not rounded: of settings. */
export function formatNsExact(ns: number): string {
  const [unit, size] = timeUnits.findLast(([, size]) => ns >= size) ?? timeUnits[0]!
  return `${Number((ns / size).toPrecision(12))} ${unit}`
}

/** The zeros behind a point, and a point with nothing else behind it. */
const zeros = /\.0+(?=\s|$)|(?<=\.\d*[1-9])0+(?=\s|$)/

function round(value: number, digits: number): number {
  return Number(value.toPrecision(digits))
}

/** A rate with a decimal prefix: "7.12 M", "940 k", of a unit: "12.5 Gbit/s", "5.00 B/s". */
export function formatRate(perSecond: number, unit = ''): string {
  return inUnits(
    perSecond,
    ['', 'k', 'M', 'G'].map((prefix, i): Unit => [`${prefix}${unit}`, 1000 ** i]),
  )
}

/** As formatRate, for ticks of an axis: "6 M", "2.5 M". */
function formatRateTick(perSecond: number): string {
  return formatRate(perSecond).replace(zeros, '')
}

/** Bytes with a binary prefix where that is exact: "8 B", "4 KiB". */
export function formatBytes(bytes: number): string {
  for (const [factor, unit] of [
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
  ] as const) {
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor} ${unit}`
  }
  return `${formatCount(bytes)} B`
}

/** What an axis counts. */
export type Quantity =
  | 'ns'
  | 'Hz'
  | 'messages/s'
  | 'requests/s'
  | 'bit/s'
  | 'bytes'
  | 'cores'
  | 'share'
  | 'seconds'
  | 'plain'

/** For ticks of an axis: short, with a scaled unit. */
export function formatTick(quantity: Quantity, value: number): string {
  if (quantity === 'ns') return formatNsTick(value)
  if (quantity === 'bytes') return formatBytesTick(value)
  if (quantity === 'messages/s' || quantity === 'requests/s' || quantity === 'bit/s') return formatRateTick(value)
  if (quantity === 'Hz') return formatHz(value)
  if (quantity === 'share') return `${Number((value * 100).toPrecision(4))} %`
  if (quantity === 'seconds') return `${formatPlain(value)} s`
  return quantity === 'cores' ? String(Number(value.toFixed(2))) : formatPlain(value)
}

/** A value in full, with its unit. */
export function formatExact(quantity: Quantity, value: number): string {
  if (quantity === 'ns') return value < 999.5 ? formatNs(value) : `${formatNs(value)} (${formatCount(value)} ns)`
  if (quantity === 'bytes') return formatBytes(value)
  if (quantity === 'messages/s' || quantity === 'requests/s') return `${formatCount(value)} ${quantity}`
  if (quantity === 'Hz') return formatHz(value)
  if (quantity === 'bit/s') return `${formatRate(value, 'bit/s')} (${formatCount(value)})`
  if (quantity === 'share') return formatShare(value)
  if (quantity === 'seconds') return `${formatPlain(value)} s`
  return quantity === 'cores' ? `${value.toFixed(3)} cores` : formatPlain(value)
}

/** "100 Hz", "2.5 kHz". */
export function formatHz(hertz: number): string {
  const text = formatRateTick(hertz)
  return /[a-z]$/i.test(text) ? `${text}Hz` : `${text} Hz`
}

function formatPlain(value: number): string {
  return Math.abs(value) >= 10_000 && Number.isInteger(value)
    ? formatCount(value)
    : String(Number(value.toPrecision(6)))
}

const binary: readonly Unit[] = ['B', 'KiB', 'MiB', 'GiB'].map((unit, i) => [unit, 1024 ** i])

/** "4 KiB", "1.5 MiB". */
function formatBytesTick(bytes: number): string {
  return inUnits(bytes, binary, (few) => String(round(few, 3))).replace(zeros, '')
}

/** A share from 0 to 1 as per cent, never rounded to a 0 or 100 that it is not. */
export function formatShare(share: number): string {
  const percent = share * 100
  if (percent === 0 || percent === 100) return `${percent} %`
  if (percent < 0.01) return '< 0.01 %'
  if (percent > 99.99) return '> 99.99 %'
  return `${percent >= 9.995 && percent < 99.95 ? percent.toFixed(1) : percent.toFixed(2)} %`
}

/** For text and for attribute values in double quotes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
