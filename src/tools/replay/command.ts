/** `verbena replay`: captured RDMA traffic again, each way a command of its own. */
import type { Command } from 'commander'

const examples = `
Examples:
  verbena replay packets roce.pcap --to lab.pcap --ip 10.77.0.0/24=192.168.7.0/24 --qpn 0x11=0x200
  verbena replay packets roce.pcap --interface eth0 --mac 52:54:00:00:00:03=02:00:00:00:00:01 --speed 2x`

export async function configure(command: Command): Promise<void> {
  command
    .description('Replay captured RDMA traffic: its packets, rewritten, to a file, an interface or a host.')
    .addHelpText('after', examples)
  const packets = await import('./packets.ts')
  packets.configure(command.command('packets').summary('the packets, with other addresses, queue pairs, keys, PSNs'))
}
