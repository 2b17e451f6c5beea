/** Numbers and sizes as people read them. */

const grouped = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })

/** 12,345 */
export function formatCount(value: number): string {
  return grouped.format(value)
}

/** A duration given in nanoseconds with a unit: "312 ns", "10,412 ns", "123.4 µs", "2.10 ms". */
export function formatNs(ns: number): string {
  if (ns < 100_000) return `${formatCount(ns)} ns`
  if (ns < 1_000_000) return `${threeDigits(ns / 1e3)} µs`
  return `${threeDigits(ns / 1e6)} ms`
}

/** As formatNs, for ticks of an axis: "200 ns", "50 µs", "1 s". */
export function formatNsTick(ns: number): string {
  for (const [factor, unit] of [
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, 'µs'],
  ] as const) {
    if (ns >= factor) return `${Number((ns / factor).toPrecision(3))} ${unit}`
  }
  return `${Number(ns.toPrecision(3))}${ns === 0 ? '' : ' ns'}`
}

/** A rate with a decimal prefix: "7.12 M", "940 k". */
export function formatRate(perSecond: number): string {
  for (const [factor, prefix] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (perSecond >= factor) return `${threeDigits(perSecond / factor)} ${prefix}`
  }
  return threeDigits(perSecond)
}

/** As formatRate, for ticks of an axis: "6 M", "2.5 M". */
function formatRateTick(perSecond: number): string {
  return formatRate(perSecond).replace(/\.(\d*?)0+(?= |$)/, (_, rest: string) => (rest ? `.${rest}` : ''))
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
  if (quantity === 'ns') return value < 100_000 ? formatNs(value) : `${formatNs(value)} (${formatCount(value)} ns)`
  if (quantity === 'bytes') return formatBytes(value)
  if (quantity === 'messages/s' || quantity === 'requests/s') return `${formatCount(value)} ${quantity}`
  if (quantity === 'Hz') return formatHz(value)
  if (quantity === 'bit/s') return `${formatRate(value)}bit/s (${formatCount(value)})`
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

/** "4 KiB", "1.5 MiB". */
function formatBytesTick(bytes: number): string {
  for (const [factor, unit] of [
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
  ] as const) {
    if (bytes >= factor) return `${Number((bytes / factor).toPrecision(3))} ${unit}`
  }
  return `${Number(bytes.toPrecision(3))} B`
}

/** A share from 0 to 1 as per cent, never rounded to a 0 or 100 that it is not. */
export function formatShare(share: number): string {
  const percent = share * 100
  if (percent === 0 || percent === 100) return `${percent} %`
  if (percent < 0.01) return '< 0.01 %'
  if (percent > 99.99) return '> 99.99 %'
  return `${percent >= 10 ? percent.toFixed(1) : percent.toFixed(2)} %`
}

function threeDigits(value: number): string {
  if (value >= 100) return formatCount(value)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
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
