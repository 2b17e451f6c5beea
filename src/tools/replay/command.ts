/** `verbena replay`: repeats captured RDMA traffic, each way a command of its own. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
Examples:
  verbena replay packets roce.pcap --to lab.pcap --ip 10.77.0.0/24=192.168.7.0/24 --qpn 0x11=0x200
  verbena replay packets roce.pcap --interface eth0 --mac 52:54:00:00:00:03=02:00:00:00:00:01 --speed 2x
  verbena replay messages rping.pcap
  verbena replay server -d shm:lab                  the other end of connections, in one terminal,
  verbena replay client rping.pcap localhost -d shm:lab     and the messages of a capture performed on them`

export async function configure(command: Command, words?: readonly string[]): Promise<void> {
  command
    .description('Replay captured RDMA traffic: its packets, rewritten, or its messages, as verbs.')
    .addHelpText('after', examples)
  await addSubcommands(
    command,
    {
      packets: {
        summary: 'the packets, with other addresses, queue pairs, keys, PSNs',
        load: () => import('./packets.ts'),
      },
      messages: {
        summary: 'the messages: operation, size, time, and the event for which each waited',
        load: () => import('./messages.ts'),
      },
      server: { summary: 'the other end of a replay of messages', load: () => import('./server.ts') },
      client: { summary: 'perform the messages with queue pairs, and compare', load: () => import('./client.ts') },
    },
    words,
  )
}
