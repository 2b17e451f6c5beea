/**
 * Contents of a chart, as plain data: the report keeps it in the page, whose script draws the same chart again with other limits, without
 * some of its lines, or as a distribution function.
 */

import type { Distribution, Histogram } from '../../stats/index.ts'
import type { Quantity } from '../format.ts'
import type { Setting } from '../results.ts'

/** Settings by which the page's reader may choose, for any content of a chart. */
export type Settings = Readonly<Record<string, Setting>>

interface Picture {
  /** File name without ending; also the prefix of the ids inside, so that many charts can share a page. */
  name: string
  /** Contents of the chart, also for readers who do not see it. */
  title: string
  /** Settings that all lines share, and the meaning of the marks; may be empty. */
  subtitle: string
  /** Pixels. */
  width: number
  height: number
}

export interface Point {
  x: Setting
  y: number
  /** Ends of the error bar. */
  low?: number
  high?: number
  /** Share of the steps that were missed, if any. */
  missed?: number
}

export interface Line {
  /** Settings that distinguish this line from the other lines of the chart, and nothing else. */
  label: string
  settings: Settings
  points: Point[]
}

/** Lines over one setting, with error bars where a point has them. */
export interface LineSpec extends Picture {
  kind: 'lines'
  /** Setting on the horizontal axis. */
  over: string
  xName: string
  yName: string
  x: Quantity
  y: Quantity
  lines: Line[]
  /** Flag: both axes are logarithmic where their values allow it; x in powers of two. */
  logarithmic: boolean
  /** Flag: y stays linear from 0, so that heights can be compared. */
  linearY: boolean
  /** Flag: lines without marks, through points that are dense on an axis of numbers: distributions, and values over time. */
  curve?: boolean
  /** Values of an axis of words, in their order. */
  categories?: readonly string[]
}

export interface HistogramSeries {
  label: string
  settings: Settings
  /** Median of all values, also those outside the range, nanoseconds. */
  median: number
  /** Histogram of the values themselves, for the picture. */
  histogram: Histogram
  /** Further lines of its box. */
  facts?: string[]
  /** Distribution for the page. */
  distribution: Distribution
}

export interface HistogramPanel {
  title: string
  series: HistogramSeries[]
}

/** Panels above each other on one axis; within a panel distributions overlap. */
export interface HistogramSpec extends Picture {
  kind: 'histogram'
  /** Nanoseconds. */
  range: readonly [number, number]
  bins: number
  /** Flag: shares on a logarithmic axis. */
  logY?: boolean
  panels: HistogramPanel[]
}

export interface BarRow {
  label: string
  settings: Settings
  /** Values, one for each of `names`. */
  values: number[]
}

/** Rows of adjacent bars. */
export interface BarSpec extends Picture {
  kind: 'bars'
  xName: string
  x: Quantity
  names: string[]
  rows: BarRow[]
}

export interface SurfacePoint {
  x: number
  y: number
  z: number
  /** Share of the steps that were missed. */
  missed: number
}

/** A surface over two settings; each point of their grid at most once. */
export interface SurfaceSpec extends Picture {
  kind: 'surface'
  /** Settings on the two axes of the floor. */
  over: readonly [string, string]
  xName: string
  yName: string
  zName: string
  x: Quantity
  y: Quantity
  z: Quantity
  /** Settings that all points share. */
  settings: Settings
  points: SurfacePoint[]
}

/** Charts that the chart library draws. */
export type ChartSpec = LineSpec | HistogramSpec | BarSpec

/** Choices of the page's reader for a chart. */
export interface View {
  /** Pixels. */
  width: number
  hidden: ReadonlySet<string>
  /** True if the reader's choice of settings includes these. */
  chosen: (settings: Settings) => boolean
  /** Flag: logarithmic axis; if left out, as in the specification. */
  logX?: boolean
  logY?: boolean
  /** Limits of the horizontal axis. */
  zoom?: readonly [number, number]
  form?: HistogramForm
}

/** Shares of the values in bins; the share up to a value; the share above a value, logarithmic. */
export type HistogramForm = 'histogram' | 'cdf' | 'tail'
