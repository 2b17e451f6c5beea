/** Cumulative distributions of the gaps between requests. */
import type { Arrival } from './config.ts'

/**
 * Returns the distribution of gaps: the fraction, 0 to 1, that are at most `ns`. Undefined for a closed loop, where the previous request
 * determines them.
 */
export function gapCdf(arrival: Arrival, requestsPerSecond: number): ((ns: number) => number) | undefined {
  const mean = 1e9 / requestsPerSecond
  switch (arrival.type) {
    case 'poisson':
      return (ns) => exponential(ns, mean)
    case 'fixed':
      return (ns) => (ns >= mean ? 1 : 0)
    case 'uniform':
      return (ns) => Math.min(1, Math.max(0, ns / (2 * mean)))
    case 'lognormal':
      return (ns) => lognormal(ns, mean, arrival.sigma)
    case 'onoff':
      return interrupted(mean, arrival.onNs, arrival.offNs)
    case 'closed':
      return undefined
  }
}

export function exponential(x: number, mean: number): number {
  return x <= 0 ? 0 : 1 - Math.exp(-x / mean)
}

/**
 * Returns the log-normal distribution at `x`. `sigma`: the standard deviation of the logarithm; the mean of the variable itself is exp(µ +
 * σ²/2).
 */
export function lognormal(x: number, mean: number, sigma: number): number {
  return x <= 0 ? 0 : normal((Math.log(x / mean) + sigma ** 2 / 2) / sigma)
}

/** Returns the distribution of the gaps of an interrupted Poisson process, which are hyperexponential (Kuczura, 1973). */
function interrupted(mean: number, onNs: number, offNs: number): (ns: number) => number {
  const rate = (onNs + offNs) / (mean * onNs)
  const [off, on] = [1 / onNs, 1 / offNs]
  const sum = rate + off + on
  const root = Math.sqrt(sum ** 2 - 4 * rate * on)
  const fast = (sum + root) / 2
  // This one of the two roots loses its digits in a difference, but their product is known.
  const slow = (rate * on) / fast
  const share = (rate - slow) / (fast - slow)
  return (ns) => (ns <= 0 ? 0 : 1 - share * Math.exp(-fast * ns) - (1 - share) * Math.exp(-slow * ns))
}

/** Returns the normal distribution (Abramowitz and Stegun, 7.1.26: at most 1.5e-7 off). */
function normal(z: number): number {
  const x = Math.abs(z) / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * x)
  const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
  const half = (1 - sum * Math.exp(-x * x)) / 2
  return z < 0 ? 0.5 - half : 0.5 + half
}
