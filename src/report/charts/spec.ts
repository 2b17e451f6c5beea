/**
 * What a chart shows, as plain data: the report keeps it in the page, whose script draws the same chart again with other
 * limits, without some of its lines, or as a distribution function.
 */

import type { Distribution, Histogram } from '../../stats/index.ts'
import type { Quantity } from '../format.ts'
import type { Setting } from '../results.ts'

/** The settings by which the page's reader may choose, of whatever the chart shows. */
export type Settings = Readonly<Record<string, Setting>>

interface Picture {
  /** File name without ending; also the prefix of the ids inside, so that many charts can share a page. */
  name: string
  /** What the chart shows, also for those who do not see it. */
  title: string
  /** What all lines share, and how to read the marks; may be empty. */
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
  /** Share of the steps that were missed, if there were any. */
  missed?: number
}

export interface Line {
  /** What tells this line from the others of the chart, nothing else. */
  label: string
  settings: Settings
  points: Point[]
}

/** Lines over one setting, with error bars where a point has them. */
export interface LineSpec extends Picture {
  kind: 'lines'
  /** The setting on the horizontal axis. */
  over: string
  xName: string
  yName: string
  x: Quantity
  y: Quantity
  lines: Line[]
  /** Both axes where their values allow it; x in powers of two. */
  logarithmic: boolean
  /** Keep y linear from 0, so that heights can be compared. */
  linearY: boolean
  /** Lines without marks, through points that are dense on an axis of numbers: distributions, and what happened over time. */
  curve?: boolean
  /** The values of an axis of words, in their order. */
  categories?: readonly string[]
}

export interface HistogramSeries {
  label: string
  settings: Settings
  /** Nanoseconds, of all values, also those outside the range. */
  median: number
  /** Of the values themselves, for the picture. */
  histogram: Histogram
  /** More lines of its box. */
  facts?: string[]
  /** For the page. */
  distribution: Distribution
}

export interface HistogramPanel {
  title: string
  series: HistogramSeries[]
}

/** Panels above each other on one axis; within a panel distributions lie over each other. */
export interface HistogramSpec extends Picture {
  kind: 'histogram'
  /** Nanoseconds. */
  range: readonly [number, number]
  bins: number
  /** Shares on a logarithmic axis. */
  logY?: boolean
  panels: HistogramPanel[]
}

export interface BarRow {
  label: string
  settings: Settings
  /** One for each of `names`. */
  values: number[]
}

/** Rows of bars that lie beside each other. */
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
  /** The settings on the two axes of the floor. */
  over: readonly [string, string]
  xName: string
  yName: string
  zName: string
  x: Quantity
  y: Quantity
  z: Quantity
  /** What all points share. */
  settings: Settings
  points: SurfacePoint[]
}

/** What the chart library draws. */
export type ChartSpec = LineSpec | HistogramSpec | BarSpec

/** How the page's reader wants to see a chart. */
export interface View {
  /** Pixels. */
  width: number
  hidden: ReadonlySet<string>
  /** Whether the reader's choice of settings has these. */
  chosen: (settings: Settings) => boolean
  /** Left out: as the specification says. */
  logX?: boolean
  logY?: boolean
  /** Limits of the horizontal axis. */
  zoom?: readonly [number, number]
  form?: HistogramForm
}

/** Shares of the values in bins; the share up to a value; the share above a value, logarithmic. */
export type HistogramForm = 'histogram' | 'cdf' | 'tail'
