/** `verbena replay`: captured RDMA traffic again, each way a command of its own. */
import type { Command } from 'commander'

const examples = `
Examples:
  verbena replay packets roce.pcap --to lab.pcap --ip 10.77.0.0/24=192.168.7.0/24 --qpn 0x11=0x200
  verbena replay packets roce.pcap --interface eth0 --mac 52:54:00:00:00:03=02:00:00:00:00:01 --speed 2x
  verbena replay messages rping.pcap
  verbena replay server -d shm:lab                  the other end of connections, in one terminal,
  verbena replay client rping.pcap localhost -d shm:lab     and the messages of a capture performed on them`

export async function configure(command: Command): Promise<void> {
  command
    .description('Replay captured RDMA traffic: its packets, rewritten, or its messages, as verbs.')
    .addHelpText('after', examples)
  const packets = await import('./packets.ts')
  packets.configure(command.command('packets').summary('the packets, with other addresses, queue pairs, keys, PSNs'))
  const messages = await import('./messages.ts')
  messages.configure(command.command('messages').summary('the messages: operation, size, time, what each waited for'))
  const server = await import('./server.ts')
  server.configure(command.command('server').summary('the other end of a replay of messages'))
  const client = await import('./client.ts')
  client.configure(command.command('client').summary('perform the messages with queue pairs, and compare'))
}
