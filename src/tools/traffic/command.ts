/** `verbena traffic`: requests as a configuration describes them, each a command of its own. */
import type { Command } from 'commander'

const examples = `
A configuration is YAML (examples/traffic, docs/guide/traffic.md), or the text format of HKUST's TrafficGenerator. It says which servers
there are, the sizes of requests, how often they come, verbs, types of queue pairs, and more.

Examples:
  verbena traffic server -d shm:lab                     a server,
  verbena traffic client web.yaml -d shm:lab            and its client
  verbena traffic fit roce.pcap -o again.yaml           a configuration like a capture
  verbena traffic cdf WebSearch                         a distribution of sizes
  verbena traffic client web.yaml --dry-run             which requests there will be, as JSON lines`

export async function configure(command: Command): Promise<void> {
  command
    .description('Generate RDMA traffic from a configuration: sizes, arrivals, verbs and destinations by distribution.')
    .addHelpText('after', examples)
  const server = await import('./server.ts')
  server.configure(command.command('server').summary('answer requests with flows of the size that they ask for'))
  const client = await import('./client.ts')
  client.configure(command.command('client').summary('send the requests of a configuration to its servers'))
  const fit = await import('./fit.ts')
  fit.configure(command.command('fit').summary('write a configuration that generates traffic like that of a capture'))
  const cdf = await import('./cdf.ts')
  cdf.configure(command.command('cdf').summary('draw a distribution of sizes, or list those that have names'))
}
