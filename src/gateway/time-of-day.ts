/**
 * The time of day where it is not for samples of a pool (these have a `Clock`): a pair, as a double of seconds or milliseconds since 1970
 * is up to 240 ns off.
 */
export interface TimeOfDay {
  sec: number
  nsec: number
}

/** Returns the present time. */
export function timeOfDay(): TimeOfDay {
  const { timeOrigin } = performance
  const originMs = Math.floor(timeOrigin)
  const sec = Math.floor(originMs / 1000)
  const nsec = (originMs - sec * 1000) * 1e6 + Math.floor((timeOrigin - originMs + performance.now()) * 1e6)
  const over = Math.floor(nsec / 1e9)
  return { sec: sec + over, nsec: nsec - over * 1e9 }
}

/** Returns, in `into`, the time a number of steps of a grid after a moment, to the nearest nanosecond. `into` may be `from`. */
export function stepsBehind(from: TimeOfDay, steps: number, rateHz: number, into: TimeOfDay): void {
  const whole = Math.floor(steps / rateHz)
  const nsec = from.nsec + Math.round(((steps - whole * rateHz) / rateHz) * 1e9)
  const over = Math.floor(nsec / 1e9)
  into.sec = from.sec + whole + over
  into.nsec = nsec - over * 1e9
}
