/** `verbena monitor`: live RDMA traffic, each view a command of its own. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
Traffic is watched in windows of a second. Each has exact counters, and sketches from which any key is answered in bounded memory:
connections, queue pairs, hosts, partitions, operations, memory regions. Every number of a sketch has its bounds.

Examples:
  verbena monitor -i eth0                            traffic of an interface, each second
  verbena monitor roce.pcap --json | jq .anomalies   anomalies of a capture
  verbena monitor a.pcap b.pcap --by source,rkey     two points of a network together`

export async function configure(command: Command, words?: readonly string[]): Promise<void> {
  command.description('Watch RDMA traffic: load, losses and congestion of a network.').addHelpText('after', examples)
  await addSubcommands(
    command,
    {
      collector: {
        summary: 'windows of many agents together, over HTTP or HTTPS',
        load: () => import('./collector.ts'),
      },
      compare: {
        summary: 'exact counting and sketches: the errors, and whether bounds hold',
        load: () => import('./compare.ts'),
      },
      report: { summary: 'a report of saved windows', load: () => import('./report.ts') },
      watch: {
        summary: 'windows of packets from interfaces, files or standard input; monitor FILE is the same',
        load: () => import('./watch.ts'),
        isDefault: true,
      },
    },
    words,
  )
}
