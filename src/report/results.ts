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
import type { TrafficSummary } from '../traffic/index.ts'

/** Order statistics of one latency sample, nanoseconds. */
export type LatencySummary = Summary

/** Value of a setting; every setting is a flat scalar so that tables and axes can use it. */
export type Setting = string | number | boolean

export interface LatencySet {
  /** Number of three digits; the raw timestamps are in `${id}.csv`. */
  id: string
  /**
   * Settings, with the names of the command line: device, service, op, size, poll, pollComp, inline, unsignaled, burst, pause, stamp,
   * engine, pin, repeat.
   */
  settings: Record<string, Setting>
  /** t_recv − t_subm (or − t_send when `settings.stamp` is `send`). */
  lat: LatencySummary
  /** t_comp − t_subm; null when the work requests were unsignaled. */
  comp: LatencySummary | null
  sent: number
  lost: number
  /** Messages that arrived but have no latency, since the second in which they left is not known; absent if there are none. */
  untimed?: number
  /** Reason why the set stopped early, if it did: the figures are then those measured before. */
  error?: string
}

export interface ThroughputSet {
  id: string
  /** technique, concurrent, batch, size, service, device, engine, repeat, … */
  settings: Record<string, Setting>
  messages: number
  seconds: number
  messagesPerSecond: number
  bytesPerSecond: number
  error?: string
}

/** One measurement of `verbena bench rsocket`: TCP_RR or TCP_STREAM over rsockets or TCP of the kernel. */
export interface SocketSet {
  id: string
  /** test (rr, stream), transport (rsocket, tcp), device (rsocket only), size, poll, buffer, extensions, pin, repeat. */
  settings: Record<string, Setting>
  /** Carrier of the data: `verbs`; for TCP `system calls`, or `node:net` where these cannot be made. */
  via: string
  /** Messages sent; for rr, requests that were answered. */
  messages: number
  seconds: number
  messagesPerSecond: number
  /** Bytes per second; for rr in each direction. */
  bytesPerSecond: number
  /** Round trips of rr, nanoseconds, timed one by one after the measurement. Their values are in `${id}.csv`. */
  roundTrip: LatencySummary | null
  /** Cores that were busy: with each end's thread, and with the whole process. Null where it cannot be known. */
  cpu: { client: number | null; server: number | null; process: number | null }
  /** Counters of each end, by name. */
  counters: { client: Record<string, number>; server: Record<string, number> }
  error?: string
}

/** One run of `verbena bench node`: a node-type of the gateway at a rate. */
export interface NodeSet {
  id: string
  /** node, mode, values, rate (samples per second), timer, ends (processes, threads), repeat; of infiniband device, and what was swept. */
  settings: Record<string, Setting>
  /** Time from the step of the generator to the receipt, of the samples that arrived. */
  lat: LatencySummary
  /** Samples that were requested, and steps that were due until the run ended: fewer, if it was interrupted. */
  limit: number
  steps: number
  /** Steps for which the generator was too late. */
  missed: number
  /** Steps whose sample did not arrive, including those that were missed. */
  missing: number
  /** Samples that were generated and did not arrive: all, and those after the first one that did. */
  notTransmitted: number
  notTransmittedConnected: number
  /** Counters of the nodes under test, by name. */
  counts: { sender: Readonly<Record<string, number>>; receiver: Readonly<Record<string, number>> }
  error?: string
}

/** Results of the requests of a client of `verbena traffic`, or of several that were merged. */
export interface TrafficSet extends TrafficSummary {
  id: string
  /** configuration (name of the file), device, arrival, load or requests, bandwidth, flow, qps, servers, clients, seed. */
  settings: Record<string, Setting>
  /** Counters of each server, by its address, including flows from the measurement of the fastest small request. */
  counted: Record<string, { requests: number; bytes: number; messages: number }>
  error?: string
}

/** One set of `verbena bench collective`. */
export interface CollectiveSet {
  id: string
  /** device, transport, mode, measure, repetitions, size (bytes), processes (remote ones); of scenario 1 posts. */
  settings: Record<string, Setting>
  /** Time of the repetitions in which nothing was lost; each is in `${id}.csv`. */
  time: LatencySummary
  /** Mean, nanoseconds. */
  mean: number
  /** Messages, both ways: a multicast counts for each rank to which it is addressed. */
  sent: number
  received: number
  /** Share that did not arrive, 0 to 1. */
  lost: number
  error?: string
}

/** One set of `verbena collective measure`: an algorithm of a collective. */
export interface AlgorithmSet {
  id: string
  /** device, collective, algorithm, ranks, size (bytes: of what `Task.bytes` counts), repetitions. */
  settings: Record<string, Setting>
  /** Time of the calls: the longest at any rank for each call; each is in `${id}.csv`. */
  time: LatencySummary
  /** Mean, nanoseconds. */
  mean: number
  /** Interval in which the median of another run is expected, nanoseconds: from the medians of the rounds, with 99 % or more. */
  interval: [number, number]
  error?: string
}

/** Time of an end by component and function, from samples of its thread's stack during a separate measurement. */
export interface SocketProfile {
  id: string
  end: 'client' | 'server'
  settings: Record<string, Setting>
  messagesPerSecond: number
  bytesPerSecond: number
  samples: number
  /** Shares of the samples; together 1. */
  components: { component: string; share: number }[]
  /** Functions with the most samples, with their module (a file, or the engine's name for it). */
  functions: { name: string; module: string; component: string; share: number }[]
}

/** Frame of a flame graph; `samples` includes those of its callees. */
export interface FlameNode {
  name: string
  module: string
  component: string
  samples: number
  children: FlameNode[]
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

export interface LatencyResults extends ResultsHead {
  tool: 'latency'
  unit: 'ns'
  sets: LatencySet[]
}

export interface ThroughputResults extends ResultsHead {
  tool: 'throughput'
  unit: 'messages/s'
  sets: ThroughputSet[]
}

export interface SocketResults extends ResultsHead {
  tool: 'rsocket'
  unit: 'bytes/s'
  sets: SocketSet[]
  profiles: SocketProfile[]
}

export interface NodeResults extends ResultsHead {
  tool: 'node'
  unit: 'ns'
  sets: NodeSet[]
}

export interface TrafficResults extends ResultsHead {
  tool: 'traffic'
  unit: 'ns'
  sets: TrafficSet[]
}

export interface CollectiveResults extends ResultsHead {
  tool: 'collective'
  unit: 'ns'
  sets: CollectiveSet[]
}

export interface AlgorithmResults extends ResultsHead {
  tool: 'algorithms'
  unit: 'ns'
  sets: AlgorithmSet[]
}

export type Results =
  | LatencyResults
  | ThroughputResults
  | SocketResults
  | NodeResults
  | TrafficResults
  | CollectiveResults
  | AlgorithmResults

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
