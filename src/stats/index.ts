/**
 * Order statistics, histograms, measures of accuracy and seeded random numbers: one definition of each, for results, reports, benchmarks and captures.
 * Pure: imports nothing.
 */

export { entropyBits, f1Of, weightedMeanRelativeError } from './accuracy.ts'
export { binned, Cumulative, type Distribution, distributionIn, distributionOf } from './distribution.ts'
export { type Histogram, histogram } from './histogram.ts'
export { ksLimit, ksOfSample, ksOfSamples } from './kolmogorov.ts'
export { LogHistogram, type LogHistogramOptions, type PlainHistogram } from './log-histogram.ts'
export { medianOf, percentile, rankOf, type Summary, summarize } from './quantiles.ts'
export { seeded, seededBits } from './seeded.ts'
