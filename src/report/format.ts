/** Numbers as reports write them: those of `text` under the names that this library exports, and those of an axis. */
import {
  exactSizeText,
  fixed,
  scaled,
  scaledShort,
  shareText,
  shortSizeText,
  shortTimeText,
  significant,
  timeText,
  whole,
} from '../text/index.ts'

export { exactTimeText as formatNsExact, shortTimeText as formatNsTick } from '../text/index.ts'

/** Formats a count: 12,345. */
export function formatCount(value: number): string {
  return whole(value)
}

/** Formats a duration in nanoseconds in the unit that suits it: "312 ns", "10.4 µs", "2.10 ms", "8.04 s". */
export function formatNs(ns: number): string {
  return timeText(ns)
}

/** Formats a rate with a decimal prefix: "7.12 M", "940 k", of a unit: "12.5 Gbit/s", "5.00 B/s". */
export function formatRate(perSecond: number, unit = ''): string {
  return scaled(perSecond, unit)
}

/** Formats bytes with a binary prefix where that is exact: "8 B", "4 KiB". */
export function formatBytes(bytes: number): string {
  return exactSizeText(bytes)
}

/** Formats a share from 0 to 1 as per cent, never rounded to a 0 or 100 that it is not. */
export function formatShare(share: number): string {
  return shareText(share)
}

/** Quantity of an axis. */
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

/** Formats a value for ticks of an axis: short, with a scaled unit. */
export function formatTick(quantity: Quantity, value: number): string {
  if (quantity === 'ns') return shortTimeText(value)
  if (quantity === 'bytes') return shortSizeText(value)
  if (quantity === 'messages/s' || quantity === 'requests/s' || quantity === 'bit/s') return scaledShort(value)
  if (quantity === 'Hz') return formatHz(value)
  if (quantity === 'share') return `${significant(value * 100, 4)} %`
  if (quantity === 'seconds') return `${formatPlain(value)} s`
  return quantity === 'cores' ? String(Number(value.toFixed(2))) : formatPlain(value)
}

/** Formats a value in full, with its unit. */
export function formatExact(quantity: Quantity, value: number): string {
  if (quantity === 'ns') return value < 999.5 ? timeText(value) : `${timeText(value)} (${whole(value)} ns)`
  if (quantity === 'bytes') return exactSizeText(value)
  if (quantity === 'messages/s' || quantity === 'requests/s') return `${whole(value)} ${quantity}`
  if (quantity === 'Hz') return formatHz(value)
  if (quantity === 'bit/s') return `${scaled(value, 'bit/s')} (${whole(value)})`
  if (quantity === 'share') return shareText(value)
  if (quantity === 'seconds') return `${formatPlain(value)} s`
  return quantity === 'cores' ? `${fixed(value, 3)} cores` : formatPlain(value)
}

/** Formats a frequency: "100 Hz", "2.5 kHz". */
export function formatHz(hertz: number): string {
  return scaledShort(hertz, 'Hz')
}

function formatPlain(value: number): string {
  return Math.abs(value) >= 10_000 && Number.isInteger(value) ? whole(value) : significant(value, 6)
}

/** Escapes text for HTML and for attribute values in double quotes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** Formats bytes per second as bits. */
export function gigabits(bytesPerSecond: number): string {
  return formatRate(bytesPerSecond * 8, 'bit/s')
}
