/** `verbena traffic`: requests as a configuration describes them, each a command of its own. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
A configuration is YAML (examples/traffic, docs/guide/traffic.md), or the text format of HKUST's TrafficGenerator. It has the servers,
the sizes of requests, their rates, verbs, types of queue pairs, and more.

Examples:
  verbena traffic server -d shm:lab                     a server,
  verbena traffic client web.yaml -d shm:lab            and its client
  verbena traffic merge results/a results/b             clients of one configuration together
  verbena traffic fit roce.pcap -o again.yaml           a configuration like a capture
  verbena traffic cdf WebSearch                         a distribution of sizes
  verbena traffic client web.yaml --dry-run             which requests there will be, as JSON lines`

export async function configure(command: Command, words?: readonly string[]): Promise<void> {
  command
    .description('Generate RDMA traffic from a configuration: sizes, arrivals, verbs and destinations by distribution.')
    .addHelpText('after', examples)
  await addSubcommands(
    command,
    {
      server: {
        summary: 'respond to requests with flows of the requested size',
        load: () => import('./server.ts'),
      },
      client: { summary: 'send the requests of a configuration to its servers', load: () => import('./client.ts') },
      merge: { summary: 'merge the results of several clients', load: () => import('./merge.ts') },
      fit: {
        summary: 'write a configuration that generates traffic like that of a capture',
        load: () => import('./fit.ts'),
      },
      cdf: { summary: 'draw a distribution of sizes, or list those that have names', load: () => import('./cdf.ts') },
    },
    words,
  )
}
