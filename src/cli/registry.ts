/** The commands of `verbena`: a summary of each, and the file that is loaded when the command is needed. */
import type { Command } from 'commander'
import type { PerfTest } from '../tools/perf/index.ts'

export interface CommandFile {
  /** Starts slow parts before anything else, if `verbena` has a process of its own. Gets the words after the command's name. */
  early?(words: readonly string[]): void
  /** Adds options, arguments and the action. `words` are those after the command's name; without them, all options are added. */
  configure(command: Command, words?: readonly string[]): void | Promise<void>
}

export interface CommandEntry {
  summary: string
  /** Name of the original command, for users who type that. */
  alias?: string
  /** True for another name of a command that is listed elsewhere. */
  hidden?: boolean
  load(): Promise<CommandFile>
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  start: {
    summary: 'measure with good defaults in under a minute, then write the report',
    load: () => import('../tools/start/index.ts'),
  },
  bench: {
    summary: 'measure: one-way latency, throughput, rsockets and TCP, or node-types',
    load: () => import('../tools/bench/index.ts'),
  },
  collective: {
    summary: 'choose the algorithms of collective operations: measure, tune',
    load: () => import('../tools/collective/index.ts'),
  },
  report: { summary: 'make a report from saved results', load: () => import('../tools/report/index.ts') },
  trace: {
    summary: 'analyse captures of RDMA traffic: check, show, info, convert',
    load: () => import('../tools/trace/index.ts'),
  },
  traffic: {
    summary: 'generate RDMA traffic by distributions of sizes, arrivals and verbs: server, client, cdf',
    load: () => import('../tools/traffic/index.ts'),
  },
  collect: {
    summary: 'collect data on the RDMA traffic of this host: counters, RoCE settings, traces',
    load: () => import('../tools/collect/index.ts'),
  },
  monitor: {
    summary: 'watch RDMA traffic: load, losses and congestion of a network',
    load: () => import('../tools/monitor/index.ts'),
  },
  replay: {
    summary: 'replay captured RDMA traffic: its packets rewritten, or its messages as verbs',
    load: () => import('../tools/replay/index.ts'),
  },
  run: {
    summary: 'run an unmodified RDMA program on adapters of Verbena, without kernel module or root',
    load: () => import('../tools/run/index.ts'),
  },
  gateway: {
    summary: 'samples of real-time simulators, as VILLASnode has them: node, pipe, signal, convert, …',
    load: () => import('../tools/gateway/index.ts'),
  },
  perf: {
    summary: 'perftest: bandwidth and latency between two processes',
    load: () => import('../tools/perf/index.ts'),
  },
  rc_pingpong: { summary: 'ibv_rc_pingpong: messages to and fro, RC', alias: 'ibv_rc_pingpong', load: pingPong('rc') },
  uc_pingpong: { summary: 'ibv_uc_pingpong: the same, UC', alias: 'ibv_uc_pingpong', load: pingPong('uc') },
  ud_pingpong: { summary: 'ibv_ud_pingpong: the same, UD', alias: 'ibv_ud_pingpong', load: pingPong('ud') },
  srq_pingpong: {
    summary: 'ibv_srq_pingpong: many RC queue pairs, one receive queue',
    alias: 'ibv_srq_pingpong',
    load: pingPong('srq'),
  },
  rping: { summary: 'rping: RDMA READ and WRITE to and fro, RDMA CM', load: () => import('../tools/rping/index.ts') },
  ucmatose: {
    summary: 'ucmatose: messages on RC connections, RDMA CM',
    load: () => import('../tools/ucmatose/index.ts'),
  },
  udaddy: { summary: 'udaddy: datagrams, RDMA CM', load: () => import('../tools/udaddy/index.ts') },
  mckey: { summary: 'mckey: datagrams to a multicast group, RDMA CM', load: () => import('../tools/mckey/index.ts') },
  cmtime: {
    summary: 'cmtime: how long connections of the RDMA CM take',
    load: () => import('../tools/cmtime/index.ts'),
  },
  rstream: {
    summary: 'rstream: streams over rsockets, or kernel TCP',
    load: () => import('../tools/rstream/index.ts'),
  },
  riostream: {
    summary: 'riostream: writes into mapped memory over rsockets',
    load: () => import('../tools/riostream/index.ts'),
  },
  rcopy: { summary: 'rcopy: files over rsockets', load: () => import('../tools/rcopy/index.ts') },
  udpong: {
    summary: 'udpong: datagrams over rsockets, or kernel UDP',
    load: () => import('../tools/udpong/index.ts'),
  },
  devices: {
    summary: 'list the adapters of this host',
    alias: 'ibv_devices',
    load: () => import('../tools/devices/index.ts'),
  },
  devinfo: {
    summary: 'show the attributes of an adapter',
    alias: 'ibv_devinfo',
    load: () => import('../tools/devinfo/index.ts'),
  },
  completion: {
    summary: 'print the completion script of bash, zsh or fish',
    load: () => import('../tools/completion/index.ts'),
  },
  ...perftestNames(),
}

/** Returns `ib_send_lat` and so on, which is `perf send_lat`. */
function perftestNames(): Record<string, CommandEntry> {
  const tests = ['send', 'write', 'read', 'atomic'].flatMap((verb) => [`${verb}_lat`, `${verb}_bw`] as PerfTest[])
  const entry = (test: PerfTest): CommandEntry => ({
    summary: `the same as perf ${test}`,
    hidden: true,
    load: async () => (await import('../tools/perf/index.ts')).perfCommand(test),
  })
  return Object.fromEntries(tests.map((test) => [`ib_${test}`, entry(test)]))
}

function pingPong(kind: 'rc' | 'uc' | 'ud' | 'srq'): () => Promise<CommandFile> {
  return async () => (await import('../tools/pingpong/index.ts')).pingPongCommand(kind)
}
