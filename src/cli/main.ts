#!/usr/bin/env node
/**
 * The `verbena` command. Each command is a file under commands/ and is loaded only when it is asked for.
 *
 * Exit codes: 0 done, 1 it failed, 2 it was asked for something that cannot be, 130 interrupted.
 */
import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { describeFailure, exitCodes } from './failure.ts'
import { endQuietlyOnClosedPipe } from './pipe.ts'

interface CommandFile {
  /** Adds options, arguments and the action. */
  configure(command: Command): void | Promise<void>
}

const commands: Record<string, { summary: string; load(): Promise<CommandFile> }> = {
  start: {
    summary: 'measure with good defaults in under a minute, then write the report',
    load: () => import('./commands/start.ts'),
  },
  bench: {
    summary: 'measure: one-way latency, throughput, or rsockets beside TCP',
    load: () => import('./commands/bench.ts'),
  },
  report: { summary: 'make a report from saved results', load: () => import('./commands/report.ts') },
  trace: {
    summary: 'look at captures of RDMA traffic: check, show, info, convert',
    load: () => import('./commands/trace.ts'),
  },
  perf: {
    summary: 'perftest: bandwidth and latency between two processes',
    load: () => import('./commands/perf.ts'),
  },
  rc_pingpong: { summary: 'ibv_rc_pingpong: messages to and fro, RC', load: pingPong('rc') },
  uc_pingpong: { summary: 'ibv_uc_pingpong: the same, UC', load: pingPong('uc') },
  ud_pingpong: { summary: 'ibv_ud_pingpong: the same, UD', load: pingPong('ud') },
  srq_pingpong: { summary: 'ibv_srq_pingpong: many RC queue pairs, one receive queue', load: pingPong('srq') },
  rping: { summary: 'rping: RDMA READ and WRITE to and fro, RDMA CM', load: () => import('./commands/rping.ts') },
  ucmatose: { summary: 'ucmatose: messages on RC connections, RDMA CM', load: () => import('./commands/ucmatose.ts') },
  udaddy: { summary: 'udaddy: datagrams, RDMA CM', load: () => import('./commands/udaddy.ts') },
  mckey: { summary: 'mckey: datagrams to a multicast group, RDMA CM', load: () => import('./commands/mckey.ts') },
  cmtime: { summary: 'cmtime: how long connections of the RDMA CM take', load: () => import('./commands/cmtime.ts') },
  rstream: { summary: 'rstream: streams over rsockets, or kernel TCP', load: () => import('./commands/rstream.ts') },
  riostream: {
    summary: 'riostream: writes into mapped memory over rsockets',
    load: () => import('./commands/riostream.ts'),
  },
  rcopy: { summary: 'rcopy: files over rsockets', load: () => import('./commands/rcopy.ts') },
  udpong: { summary: 'udpong: datagrams over rsockets, or kernel UDP', load: () => import('./commands/udpong.ts') },
  devices: { summary: 'list the adapters of this host', load: () => import('./commands/devices.ts') },
  devinfo: { summary: 'show what an adapter can do', load: () => import('./commands/devinfo.ts') },
}

function pingPong(kind: 'rc' | 'uc' | 'ud' | 'srq'): () => Promise<CommandFile> {
  return async () => (await import('./commands/pingpong.ts')).pingPongCommand(kind)
}

const examples = `
Examples:
  verbena start                                         the tour: a measurement and its report
  verbena bench latency --service RC,UC,UD --size 8,512,4096
  verbena bench latency --poll busy,event --burst 1024 --pause 5000
  verbena bench latency --engine thread --stamp submit,send --inline on,off
  verbena bench throughput --technique write,write-batch --concurrent 1,8,64
  verbena report results/2026-01-31-120000-latency --over size
  verbena trace show roce.pcap --filter 'retransmission or nak'
  verbena devinfo shm0 -v

A setting may be a list; the run is the product of all lists. --json prints one JSON document and nothing else.`

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

async function buildProgram(argv: readonly string[]): Promise<Command> {
  const program = new Command('verbena')
  program
    .description('RDMA verbs in user space, and what to measure them with. No adapter, no kernel module, no root.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', examples)
    .showHelpAfterError(false)
    .enablePositionalOptions()
    .exitOverride()
  const words = argv.filter((word) => !word.startsWith('-'))
  const asked = words[0] === 'help' ? words[1] : words[0]
  for (const [name, { summary, load }] of Object.entries(commands)) {
    const command = program.command(name).summary(summary).description(summary).exitOverride()
    if (name === asked) await (await load()).configure(command)
  }
  return program
}

async function main(argv: readonly string[]): Promise<number> {
  endQuietlyOnClosedPipe()
  try {
    const program = await buildProgram(argv)
    if (argv.length === 0) {
      program.outputHelp()
      return exitCodes.done
    }
    await program.parseAsync([...argv], { from: 'user' })
    return Number(process.exitCode ?? exitCodes.done)
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed its message already.
      if (error.exitCode === 0) return exitCodes.done
      if (error.code !== 'commander.help')
        process.stderr.write(`\nRun \`verbena ${helpTopic(argv)}--help\` to see what there is.\n`)
      return exitCodes.usage
    }
    const { message, exitCode } = describeFailure(error)
    process.stderr.write(`verbena: ${message}\n`)
    return exitCode
  }
}

/** The command that help is wanted for: as many leading words of the command line as are commands. */
function helpTopic(argv: readonly string[]): string {
  const [first, second] = argv
  if (first === undefined || !(first in commands)) return ''
  if (first === 'bench' && ['latency', 'throughput', 'rsocket'].includes(second ?? '')) return `${first} ${second} `
  if (first === 'trace' && ['check', 'show', 'info', 'convert'].includes(second ?? '')) return `${first} ${second} `
  if (first === 'perf' && /^(send|write|read|atomic)_(lat|bw)$/.test(second ?? '')) return `${first} ${second} `
  return `${first} `
}

process.exitCode = await main(process.argv.slice(2))
