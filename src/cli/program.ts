/** The command line as commander knows it. */
import { Command } from 'commander'
import { nearest } from '../spelling/index.ts'
import { type CommandEntry, commands } from './registry.ts'
import { type Io, version } from './terminal/index.ts'

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

/**
 * Builds the program. The commands for which `wanted` is true get their options and subcommands; of the others, only names are known.
 * `words` follow the name of the requested command: subcommands that they do not name are not loaded.
 */
export async function buildProgram(
  io: Io,
  wanted: (name: string, entry: CommandEntry) => boolean,
  words?: readonly string[],
): Promise<Command> {
  const program = new Command('verbena')
  program
    .description('RDMA verbs in user space, and tools to measure them. No adapter, no kernel module, no root.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', examples)
    .showHelpAfterError(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(failureText(text)),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
      getOutHasColors: () => io.stdout.hasColors?.() ?? false,
      getErrHasColors: () => io.stderr.hasColors?.() ?? false,
    })
  for (const [name, entry] of Object.entries(commands)) {
    const { summary, load, alias, hidden = false } = entry
    const command = program.command(name, { hidden }).summary(summary).description(summary)
    if (alias !== undefined) command.alias(alias)
    if (wanted(name, entry)) await (await load()).configure(command, words)
  }
  return program
}

/** Returns commander's text of an error, in the form of all other ones; commander does not know the commands that help does not list. */
function failureText(text: string): string {
  const [, unknown] = /^error: unknown command '(.+)'\n$/.exec(text) ?? []
  const unlisted = Object.keys(commands).filter((name) => commands[name]!.hidden)
  const near = unknown === undefined ? undefined : nearest(unknown, unlisted)
  return text.replace(/^error: /, 'verbena: ').replace(/\n$/, near === undefined ? '\n' : `\n(Did you mean ${near}?)\n`)
}

/** Returns the command that the first words of a command line name, as far as they name one. */
export function namedCommand(program: Command, argv: readonly string[]): Command {
  let command = program
  for (const word of argv) {
    const next = command.commands.find((known) => known.name() === word || known.aliases().includes(word))
    if (next === undefined) break
    command = next
  }
  return command
}

/** Returns `bench latency`, as it is typed after `verbena`. */
export function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}`.trim() : ''
}
