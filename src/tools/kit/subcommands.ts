/** Commands of a command, as `verbena trace check`: each in a file of its own, which is loaded on demand. */
import type { Command } from 'commander'

interface Module {
  configure(command: Command): void | Promise<void>
}

export interface Subcommand {
  /** Description in one line. */
  summary: string
  /** Loads the file that has its options and its run. */
  load(): Promise<Module>
  /** True for the command that runs where no other one is named. */
  isDefault?: boolean
}

/**
 * Adds each to `command`, under its name. `words` are the words after the name of `command` on the command line: a subcommand that they
 * do not name is added with its name and summary only. Without `words`, and for help, all are loaded.
 */
export async function addSubcommands(
  command: Command,
  subcommands: Readonly<Record<string, Subcommand>>,
  words?: readonly string[],
): Promise<void> {
  const isMeant = meant(subcommands, words)
  for (const [name, { summary, load, isDefault = false }] of Object.entries(subcommands)) {
    const subcommand = command.command(name, { isDefault }).summary(summary)
    if (isMeant(name)) await (await load()).configure(subcommand)
  }
}

/**
 * Returns a predicate for the subcommands to load. A word may also be the value of an option or a file: any word that is the name of a
 * subcommand counts, which at worst loads a file in vain.
 */
function meant(
  subcommands: Readonly<Record<string, Subcommand>>,
  words: readonly string[] = [],
): (name: string) => boolean {
  const named = words.filter((word) => Object.hasOwn(subcommands, word))
  const isForHelp = words.length === 0 || words.some((word) => ['-h', '--help', 'help'].includes(word))
  const fallback = Object.keys(subcommands).find((name) => subcommands[name]!.isDefault)
  if (named.length === 0 && (isForHelp || fallback === undefined)) return () => true
  return (name) => named.includes(name) || (name === fallback && words[0] !== named[0])
}
