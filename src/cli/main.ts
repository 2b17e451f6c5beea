#!/usr/bin/env node
/**
 * The `verbena` command. Each command is a folder under tools/ and is loaded only when it is asked for.
 *
 * Exit codes: 0 done, 1 failed, 2 usage error, 130 and 143 interrupted by SIGINT and SIGTERM.
 */
import module from 'node:module'
import { Command, CommanderError } from 'commander'
import { commands } from './registry.ts'
import { describeFailure, endOnFailedOutput, exitCodes, version } from './terminal/index.ts'

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

/** Keeps compiled code for the next command, where Node can (from 22.1 on). */
function keepCompiledCode(): void {
  const { enableCompileCache } = module as { enableCompileCache?: () => unknown }
  enableCompileCache?.()
}

async function main(argv: readonly string[]): Promise<number> {
  keepCompiledCode()
  endOnFailedOutput()
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
