import type { CapturedPacket } from '../capture/index.ts'
import { mostMs, mostWindowMs } from './config.ts'

/** Returns milliseconds since 1970; −1 without a time, or with one that has no date. */
export function timeOf({ hasTime, seconds, nanoseconds }: CapturedPacket): number {
  const ms = seconds * 1000 + nanoseconds / 1e6
  return hasTime && ms >= 0 && ms < mostMs - mostWindowMs ? ms : -1
}
