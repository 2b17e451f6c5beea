/** Commands of a command, as `verbena trace check`: each in a file of its own. */
import type { Command } from 'commander'

interface Module {
  configure(command: Command): void | Promise<void>
}

/** Adds each to `command`, under its name: what it does in one line, and the file that has its options and its run. */
export async function addSubcommands(
  command: Command,
  subcommands: Readonly<Record<string, readonly [summary: string, load: () => Promise<Module>]>>,
): Promise<void> {
  for (const [name, [summary, load]] of Object.entries(subcommands))
    await (await load()).configure(command.command(name).summary(summary))
}
