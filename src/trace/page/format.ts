/** Numbers as text. */
import { duration } from '../index.ts'

export function whole(count: number): string {
  return count.toLocaleString('en')
}

const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** 1.25 MB */
export function byteText(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`
}

/** 609 ms, 12.5 s, 1 h 2 min. */
export function spanText(seconds: number): string {
  if (seconds < 100) return duration(seconds * 1e9)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds - minutes * 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
