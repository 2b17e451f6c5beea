/** `verbena gateway`: samples of real-time simulators and devices, as VILLASnode has them. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
A sample is a sequence number, a time and values. Its formats are those of VILLASnode, byte for byte.

Example:
  verbena gateway convert -i villas.human -o csv -t 8f < log.dat > log.csv`

export async function configure(command: Command, words?: readonly string[]): Promise<void> {
  command.description('Samples of real-time simulators and devices.').addHelpText('after', examples)
  await addSubcommands(
    command,
    {
      convert: { summary: 'samples from one format to another', load: () => import('./convert.ts') },
      compare: { summary: 'files of samples with each other', load: () => import('./compare.ts') },
      hook: { summary: 'samples through a hook', load: () => import('./hook.ts') },
      node: { summary: 'run the nodes and paths of a configuration', load: () => import('./node.ts') },
      pipe: { summary: 'standard input to a node, and the node to standard output', load: () => import('./pipe.ts') },
      signal: { summary: 'generate samples', load: () => import('./signal.ts') },
      check: { summary: 'whether a configuration is right', load: () => import('./check.ts') },
      graph: { summary: 'draw the nodes and paths of a configuration', load: () => import('./graph.ts') },
    },
    words,
  )
}
