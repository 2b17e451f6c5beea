/** `verbena collective`: finds the best algorithm of a collective operation on this machine. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
Programs take the table of tune by its name in VERBENA_TABLE, or give its content to createCommunicator as \`table\`.

Examples:
  verbena collective measure --procs 4 --out results/here
  verbena collective tune results/here -o table.json
  VERBENA_TABLE=table.json mpirun -np 4 node program.mjs`

export async function configure(command: Command, words?: readonly string[]): Promise<void> {
  command
    .description('Measure the algorithms of verbena/collectives, and make the table that chooses among them.')
    .addHelpText('after', examples)
  await addSubcommands(
    command,
    {
      measure: {
        summary: 'how long each algorithm takes, by size and number of ranks',
        load: () => import('./measure.ts'),
      },
      tune: { summary: 'make a table of rules from such results', load: () => import('./tune.ts') },
    },
    words,
  )
}
