/** The stamp that messages carry: `tv_nsec` of CLOCK_MONOTONIC, 0 to 999,999,999, which starts again each second. */
import { nowNs } from '../../memory/index.ts'

const second = 1e9
/** Start of the current second; a subtraction is cheaper than `%` on numbers of this size. */
let startOfSecond = 0

export function tvNsec(): number {
  return tvNsecOf(nowNs())
}

/** Returns the stamp of a time of `nowNs`, which is not before that of the last call in this thread. */
export function tvNsecOf(now: number): number {
  let nsec = now - startOfSecond
  if (nsec >= second) {
    startOfSecond = Math.floor(now / second) * second
    nsec = now - startOfSecond
  }
  return nsec
}
