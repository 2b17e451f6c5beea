/**
 * Saved form of a benchmark's results, which `verbena bench` writes and `verbena report` and programs read.
 *
 *     DIR/run.json   a Results document: the tool, the machine, the versions, and one entry for each set of settings
 *     DIR/plot.json  how to draw it (PlotSettings); a person may edit it and make the report again
 *     DIR/NNN.csv    the raw timestamps of set NNN: number,t_subm,t_recv,t_comp; of sockets: number,round_trip;
 *                    of bench collective and collective measure: repetition,time
 *     DIR/sets.csv   sockets only: all sets as a table
 *     DIR/NNN_MODE-VALUES-RATE-LIMIT_input.csv, ..._output.csv   node-types: the samples that were generated, and those that arrived
 *     DIR/NNN.traffic.json   traffic: histograms and counts of all kinds of requests (TrafficRecord), which merge without loss
 *     DIR/NNN-END.flame.json   sockets with a profile: the tree of calls of an end (FlameNode)
 *
 * Timestamps are the `tv_nsec` of CLOCK_MONOTONIC: integers from 0 to 999,999,999 that wrap
 * each second; an empty field is a message that was lost or not signaled. Latencies are nanoseconds.
 */

import type { Summary } from '../stats/index.ts'

/** Order statistics of one latency sample, nanoseconds. */
export type LatencySummary = Summary

/** Value of a setting; every setting is a flat scalar so that tables and axes can use it. */
export type Setting = string | number | boolean

/** Set of any tool: what all of them have. */
export interface SavedSet {
  /** Number of three digits; raw data are in files that begin with it. */
  id: string
  /** Settings, with the names of the command line. */
  settings: Record<string, Setting>
  /** Reason why the set stopped early, if it did: the figures are then those measured before. */
  error?: string
}

/** Set with a latency. */
export interface TimedSet extends SavedSet {
  lat: LatencySummary
}

export interface Machine {
  cpu: string
  /** Number of cores that the program may use. */
  cores: number
  /** Numbers of the cores to which the measuring thread was bound, unless they are all; `others` and `stolen` are those of these cores. */
  boundTo?: readonly number[]
  memoryBytes: number
  os: string
  /** One-minute load average when the run began. */
  load: number
  /** Shares of the time of all cores during the run, 0 to 1: taken by the host of a virtual machine, and used by other programs. */
  stolen?: number
  others?: number
  /** Maximum number of threads that poll without pause at the same time. */
  pollingThreads?: number
  /** Permissions of the run: huge pages, locked memory, pinned threads. */
  permitted: Record<string, boolean>
}

export interface ResultsHead {
  format: 'verbena-results'
  version: 1
  /** Command line, without the interpreter. */
  command: string[]
  /** Start time, ISO 8601. */
  startedAt: string
  durationSeconds: number
  /** False when the run was interrupted or failed: the sets are those measured before. */
  complete: boolean
  machine: Machine
  /** Versions of verbena, node, v8, koffi (absent when it could not be loaded). */
  versions: Record<string, string>
}

/** Frame of a flame graph; `samples` includes those of its callees. */
export interface FlameNode {
  name: string
  module: string
  component: string
  samples: number
  children: FlameNode[]
}

/** Results of a tool. */
export interface ResultsOf<Tool extends string = string, Unit extends string = string, S extends SavedSet = SavedSet>
  extends ResultsHead {
  tool: Tool
  unit: Unit
  sets: S[]
}

/** Settings of the plots, one file for each run. */
export interface PlotSettings {
  /** Pixels. */
  figure: { width: number; height: number }
  histogram: {
    title: string
    /** Limits in nanoseconds; the box states the share of values above the upper limit and the maximum. */
    range: [number, number]
    bins: number
    /** Latencies to draw for each set. */
    values: ('lat' | 'comp')[]
    /** Flag: shares on a logarithmic axis, so that the few slow messages are visible. */
    logarithmic?: boolean
  }
  medians: {
    title: string
    /** Setting on the horizontal axis. */
    over: string
    /** Settings that distinguish the lines; empty: all that vary. */
    lines: string[]
    logarithmic: boolean
  }
}

/** Saved results, read from a directory. */
export interface Run<R extends ResultsOf = ResultsOf> {
  /** Directory, as it was given. */
  dir: string
  /** Name of the directory, which distinguishes runs in a comparison. */
  label: string
  results: R
  plot: PlotSettings
}

/** Schema of zod for values of this type. It is not named as zod's own type, since readers of our declarations do not have that package. */
export interface Schema<T> {
  parse(value: unknown): T
}
