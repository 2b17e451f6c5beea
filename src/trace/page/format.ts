/** Times as text. */
import { duration } from '../index.ts'

/** 609 ms, 12.5 s, 1 h 2 min. */
export function spanText(seconds: number): string {
  if (seconds < 99.95) return duration(seconds * 1e9)
  const rounded = Math.round(seconds)
  const minutes = Math.floor(rounded / 60)
  if (minutes < 60) return `${minutes} min ${rounded % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
