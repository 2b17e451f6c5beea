/** `verbena bench`: the benchmarks, each a command of its own. */
import type { Command } from 'commander'

export async function configure(command: Command): Promise<void> {
  command.description('Measure between two adapters of this host, and keep the results for `verbena report`.')
  const latency = await import('../bench-latency/index.ts')
  latency.configure(command.command('latency').summary('one-way latency of messages'))
  const throughput = await import('../bench-throughput/index.ts')
  throughput.configure(
    command.command('throughput').summary('messages and bytes per second of the tutorial’s techniques'),
  )
  const rsocket = await import('../bench-rsocket/index.ts')
  rsocket.configure(command.command('rsocket').summary('rsockets and kernel TCP: TCP_RR and TCP_STREAM'))
  const node = await import('../bench-node/index.ts')
  node.configure(command.command('node').summary('latency and losses of node-types of the gateway'))
  const collective = await import('../bench-collective/index.ts')
  collective.configure(
    command.command('collective').summary('one to many and many to one, by transport, operation, size and processes'),
  )
}
