/**
 * A section of the report: one object for each tool that saves results. It has the form of the sets, the plots that a run is saved with, and
 * all that the page shows of them. `sections/registry.ts` lists them.
 */
import type { ChartSpec, SurfaceSpec } from './charts/spec.ts'
import type { Headline } from './page/headline.ts'
import type { PlotSettings, ResultsOf, Run, Schema, Setting } from './results.ts'
import type { Entry } from './settings.ts'

/** Page under construction, as a section sees it. */
export interface Canvas {
  plot: PlotSettings
  runs: readonly Run[]
  /** Notes for the reader, to which a section adds its own. */
  notes: string[]
  /** Returns the setting on the horizontal axis; null if there is none. */
  over(entries: readonly Entry[]): string | null
  /** Draws charts; `later`: without the still pictures. */
  charts(specs: readonly ChartSpec[], later?: boolean): string
  surfaces(specs: readonly SurfaceSpec[]): string
  /** Puts a picture that is drawn already beside the charts. */
  picture(name: string, svg: string): string
}

export interface ReportSection<R extends ResultsOf> {
  /** Tool, as its results name it. */
  readonly tool: R['tool']
  readonly schema: Schema<R>
  /** Returns the plot settings that a run is saved with; a person may edit the file and make the report again. */
  plot(settings: readonly Readonly<Record<string, Setting>>[]): PlotSettings
  headline(entries: readonly Entry<R['sets'][number]>[]): Headline
  /** Returns parts of the page, each made by `section`; one without content is left out. */
  parts(entries: readonly Entry<R['sets'][number]>[], canvas: Canvas): string[]
  /** Returns all sets as comma-separated values, for tools that save them as `sets.csv`, too. */
  csv?(results: R): string
}
