/**
 * All commands and their options as data, from the definitions that parse them: reference pages, man pages and shell
 * completion are made of it.
 */
import type { Argument, Command, Option } from 'commander'
import { buildProgram, fullName } from './program.ts'
import { exitCodeTexts, type Io } from './terminal/index.ts'

export interface ArgumentDescription {
  name: string
  description: string
  required: boolean
  /** Takes all words that follow. */
  variadic: boolean
}

export interface OptionDescription {
  /** Flags as help shows them: `-d, --ib-dev <dev>`. */
  flags: string
  short?: string
  long?: string
  /** Value of the option: its name, and whether the option may stand without one. */
  argument?: { name: string; optional: boolean }
  /** Description without the default. */
  description: string
  /** Default in words, which counts if the option is not given. */
  default?: string
  /** Environment variable that provides a default. */
  env?: string
  choices?: readonly string[]
  /** Flag: accepted, but left out of help: another spelling, or an option of the original with a reason why it is not here. */
  hidden: boolean
}

export interface CommandDescription {
  /** Name as it is typed after `verbena`: `bench latency`; empty for `verbena` itself. */
  name: string
  aliases: readonly string[]
  summary: string
  description: string
  /** Usage: `[options] [host]`. */
  usage: string
  arguments: ArgumentDescription[]
  options: OptionDescription[]
  /** Notes that help shows after the options, without the examples. */
  notes: string
  examples: { command: string; comment: string }[]
  /** Subcommands. */
  commands: CommandDescription[]
}

export interface CommandLineDescription {
  program: CommandDescription
  /** Exit codes, the same for all commands. */
  exitCodes: { code: number; meaning: string }[]
}

export async function describeCommandLine(): Promise<CommandLineDescription> {
  const program = await buildProgram(process satisfies Io, () => true)
  const exitCodes = Object.entries(exitCodeTexts).map(([code, meaning]) => ({ code: Number(code), meaning }))
  return { program: describeCommand(program), exitCodes }
}

function describeCommand(command: Command): CommandDescription {
  return {
    name: fullName(command),
    aliases: command.aliases(),
    summary: command.summary(),
    description: command.description(),
    usage: command.usage(),
    arguments: command.registeredArguments.map(describeArgument),
    options: optionsOf(command).map(describeOption),
    ...splitHelp(helpAfter(command)),
    commands: command
      .createHelp()
      .visibleCommands(command)
      .filter((one) => one.name() !== 'help')
      .map(describeCommand),
  }
}

/** Returns the options, with `--help`, which every command has. */
function optionsOf(command: Command): Option[] {
  const help = command.createHelp()
  const hidden = command.options.filter((option) => option.hidden)
  return [...help.visibleOptions(command), ...hidden]
}

function describeArgument(argument: Argument): ArgumentDescription {
  const { description, required, variadic } = argument
  return { name: argument.name(), description, required, variadic }
}

function describeOption(option: Option): OptionDescription {
  const { flags, short, long, envVar, argChoices, hidden } = option
  const [, description = '', fallback] = /^(.*?)(?: \(default: (.*)\))?$/s.exec(option.description) ?? []
  const value = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1]
  return {
    flags,
    ...(short === undefined ? {} : { short }),
    ...(long === undefined ? {} : { long }),
    ...(value === undefined ? {} : { argument: { name: value, optional: option.optional } }),
    description,
    ...defaultOf(option, fallback),
    ...(envVar === undefined ? {} : { env: envVar }),
    ...(argChoices === undefined ? {} : { choices: argChoices }),
    hidden,
  }
}

/** Returns the default: the value that commander knows, or the words of the description. */
function defaultOf({ defaultValue, defaultValueDescription }: Option, words: string | undefined): { default?: string } {
  const text = words ?? defaultValueDescription ?? (defaultValue === undefined ? undefined : String(defaultValue))
  return text === undefined ? {} : { default: text }
}

/** Returns the text that `addHelpText('after', …)` added. */
function helpAfter(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
  return text.slice(command.helpInformation().length)
}

/**
 * Splits the text of help. Examples stand below `Examples:`, one on each line, the comment after two blanks or alone on the next line,
 * deeply indented. A paragraph that follows belongs to the notes.
 */
function splitHelp(text: string): Pick<CommandDescription, 'notes' | 'examples'> {
  const [before = '', rest = ''] = text.split(/^Examples:\n/m)
  const [list = '', ...after] = rest.split(/\n\n/)
  const examples: CommandDescription['examples'] = []
  for (const line of list.split('\n')) {
    const [, command, comment = ''] = /^ {2}(verbena\b.*?)(?: {2,}(.*))?$/.exec(line) ?? []
    if (command !== undefined) examples.push({ command, comment })
    else if (line.trim() !== '' && examples.length > 0) examples.at(-1)!.comment += ` ${line.trim()}`
  }
  for (const example of examples) example.comment = example.comment.trim()
  return {
    notes: [before.trim(), ...after.map((part) => part.trim())].filter((part) => part !== '').join('\n\n'),
    examples,
  }
}
