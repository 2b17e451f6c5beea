/** `verbena gateway`: samples of real-time simulators and devices, as VILLASnode has them. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
A sample is a sequence number, a time and values. Its formats are those of VILLASnode, byte for byte.

Example:
  verbena gateway convert -i villas.human -o csv -t 8f < log.dat > log.csv`

export async function configure(command: Command): Promise<void> {
  command.description('Samples of real-time simulators and devices.').addHelpText('after', examples)
  await addSubcommands(command, {
    convert: ['samples from one format to another', () => import('./convert.ts')],
    compare: ['files of samples with each other', () => import('./compare.ts')],
    hook: ['samples through a hook', () => import('./hook.ts')],
    node: ['run the nodes and paths of a configuration', () => import('./node.ts')],
    pipe: ['standard input to a node, and the node to standard output', () => import('./pipe.ts')],
    signal: ['generate samples', () => import('./signal.ts')],
    check: ['whether a configuration is right', () => import('./check.ts')],
    graph: ['draw the nodes and paths of a configuration', () => import('./graph.ts')],
  })
}
