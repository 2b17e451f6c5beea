/** Ticks of logarithmic axes. */

/** Returns 1, 2, 5, 10, 20, 50 … within the limits; the limits themselves are rounded outwards to such numbers. */
export function decadeTicks(low: number, high: number): { min: number; max: number; ticks: number[] } {
  const ticksOf = (digits: readonly number[]): number[] => {
    const series: number[] = []
    for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.ceil(Math.log10(high)) + 1; e++)
      for (const digit of digits) series.push(Number(`${digit}e${e}`))
    const min = series.findLast((tick) => tick <= low)!
    const max = series.find((tick) => tick >= high && tick > min)!
    return series.filter((tick) => tick >= min && tick <= max)
  }
  // Above three decades the powers of ten are enough.
  const fine = ticksOf([1, 2, 5])
  const ticks = fine.length > 10 ? ticksOf([1]) : fine
  return { min: ticks[0]!, max: ticks.at(-1)!, ticks }
}

/** Returns powers of a base within the limits, as many as there is space for. */
export function powerTicks(base: number, low: number, high: number, most: number): number[] {
  const log = (value: number): number => Math.log(value) / Math.log(base)
  const [first, last] = [Math.ceil(log(low) - 1e-9), Math.floor(log(high) + 1e-9)]
  const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(2, most)))
  return Array.from(
    { length: Math.max(0, Math.floor((last - first) / step) + 1) },
    (_, i) => base ** (first + i * step),
  )
}

/** Returns as many of the values as there is space for, evenly chosen. */
export function thinned(values: readonly number[], most: number): number[] {
  const step = Math.ceil(values.length / Math.max(2, most))
  return values.filter((_, index) => index % step === 0)
}

/** Returns four to eight steps of 1, 2 or 5 from 0 on; the last one is not below `high`. */
export function evenTicks(high: number): { min: number; max: number; ticks: number[] } {
  const power = 10 ** Math.floor(Math.log10(high > 0 ? high : 1))
  const step = [0.2, 0.5, 1, 2].map((digit) => digit * power).find((each) => high / each <= 6)!
  const count = Math.max(1, Math.ceil(high / step - 1e-9))
  const ticks = Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)))
  return { min: 0, max: ticks.at(-1)!, ticks }
}
