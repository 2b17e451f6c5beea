/** `verbena gateway`: samples of real-time simulators and devices, as VILLASnode has them. */
import type { Command } from 'commander'

const examples = `
A sample is a sequence number, a time and values. Its formats are those of VILLASnode, byte for byte.

Example:
  verbena gateway convert -i villas.human -o csv -t 8f < log.dat > log.csv`

export async function configure(command: Command): Promise<void> {
  command.description('Samples of real-time simulators and devices.').addHelpText('after', examples)
  const convert = await import('./convert.ts')
  convert.configure(command.command('convert').summary('samples from one format to another'))
  const compare = await import('./compare.ts')
  compare.configure(command.command('compare').summary('files of samples with each other'))
  const hook = await import('./hook.ts')
  hook.configure(command.command('hook').summary('samples through a hook'))
  const node = await import('./node.ts')
  node.configure(command.command('node').summary('run the nodes and paths of a configuration'))
  const pipe = await import('./pipe.ts')
  pipe.configure(command.command('pipe').summary('standard input to a node, and the node to standard output'))
  const signal = await import('./signal.ts')
  signal.configure(command.command('signal').summary('generate samples'))
  const check = await import('./check.ts')
  check.configure(command.command('check').summary('whether a configuration is right'))
  const graph = await import('./graph.ts')
  graph.configure(command.command('graph').summary('draw the nodes and paths of a configuration'))
}
