/** What pages, man pages and completion have in common: the commands in their order, and what may follow an option. */
import type { CommandDescription, OptionDescription } from '../../src/cli/describe.ts'

/** A command and all below it. */
export const withSubcommands = (command: CommandDescription): CommandDescription[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
]

/** `verbena-bench-latency`: the name of its man page. */
export const manName = ({ name }: Pick<CommandDescription, 'name'>): string =>
  ['verbena', ...name.split(' ')].filter(Boolean).join('-')

export const visible = (options: readonly OptionDescription[]): OptionDescription[] =>
  options.filter(({ hidden }) => !hidden)

/** The sentence that describes a command; where it has none, its summary. */
export const sentenceOf = ({ summary, description }: CommandDescription): string => description || summary

export type Completion = { kind: 'device' | 'file' | 'folder' | 'nothing' } | { kind: 'word'; words: readonly string[] }

/** Words that values of these names may be. Of them, an option takes those that its description names. */
const words: Readonly<Record<string, readonly string[]>> = {
  types: ['RC', 'UC', 'UD'],
  type: ['RC', 'UC', 'UD', 'FETCH_AND_ADD', 'CMP_AND_SWAP'],
  operations: ['send-imm', 'write-imm'],
  modes: ['busy', 'event'],
  moments: ['submit', 'send'],
  engines: ['poster', 'thread'],
  tests: ['rr', 'stream'],
  transports: ['rsocket', 'tcp'],
  cores: ['auto', 'none'],
  format: ['name', 'ip', 'ipv6', 'gid'],
  space: ['tcp', 'ib', 'udp', 'ipoib'],
  names: ['send-recv', 'write', 'write-unsignaled', 'write-inline', 'write-batch', 'srq', 'write-imm'],
}

const devices = new Set(['dev', 'device', 'adapter', 'adapters'])
const files = new Set(['file', 'in', 'out'])
const folders = new Set(['dir', 'dirs', 'directory'])

/** What can stand behind an option, as far as it can be listed. */
export function completionOf({
  long,
  argument,
  choices,
  description,
  default: fallback,
}: OptionDescription): Completion {
  if (argument === undefined) return { kind: 'nothing' }
  const { name } = argument
  if (choices !== undefined) return { kind: 'word', words: choices }
  if (/^\w+(\|\w+)+$/.test(name)) return { kind: 'word', words: name.split('|') }
  if (devices.has(name) || long === '--device' || long === '--ib-dev') return { kind: 'device' }
  const said = new Set(`${description} ${fallback ?? ''}`.split(/[^\w-]+/))
  const possible = (words[name] ?? []).filter((word) => said.has(word))
  if (possible.length > 0) return { kind: 'word', words: possible }
  return namedValue(name)
}

/** What an argument can be; the last one of a command is meant if there are more words than arguments. */
export const argumentOf = ({ arguments: all }: CommandDescription, index: number): Completion => {
  const argument = all[index] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined)
  return argument === undefined ? { kind: 'nothing' } : namedValue(argument.name, argument.description)
}

function namedValue(name: string, description = ''): Completion {
  const choices = /^(\w+(?:, \w+)* or \w+)$/.exec(description)
  if (choices) return { kind: 'word', words: choices[1]!.split(/, | or /) }
  if (devices.has(name)) return { kind: 'device' }
  if (files.has(name)) return { kind: 'file' }
  return { kind: folders.has(name) ? 'folder' : 'nothing' }
}
