/** `verbena trace`: analyses packets on the wire, each analysis a command of its own. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
A capture is a pcap or pcapng file of any size, compressed with gzip or not, or the folder of a session that verbena collect has made;
- reads standard input. Link types: Ethernet
with VLAN tags, Linux cooked (v1, v2), raw IP, ERF, InfiniBand. RoCEv2 over IPv4 and IPv6, RoCEv1, and native InfiniBand;
also inside VXLAN, Geneve, GRE, ERSPAN, IP and MPLS. zstd needs Node.js 22.15.

Examples:
  verbena collect trace -i eth0 -w roce.pcapng       make a capture, as tcpdump does
  verbena trace check roce.pcap                      is every packet valid?
  verbena trace info roce.pcap                       the connections, their losses and latencies
  verbena trace show roce.pcap --filter 'retransmission or nak'
  verbena trace page roce.pcap -o roce.html           a page with the capture, also to send to others
  verbena trace convert roce.pcap.gz roce.pcapng`

export async function configure(command: Command, words?: readonly string[]): Promise<void> {
  command
    .description('Look at captures of RDMA traffic: check each packet, show them, follow the connections.')
    .addHelpText('after', examples)
  await addSubcommands(
    command,
    {
      check: { summary: 'ICRC, lengths and headers of every packet', load: () => import('./check.ts') },
      show: {
        summary: 'each packet on a line, with its meaning in its connection',
        load: () => import('./show.ts'),
      },
      info: { summary: 'the conversations: messages, losses, NAKs, latencies', load: () => import('./info.ts') },
      page: {
        summary: 'a page that does all of this in the browser, with a capture in it or without',
        load: () => import('./page.ts'),
      },
      convert: { summary: 'write the packets, or some of them, in another format', load: () => import('./convert.ts') },
    },
    words,
  )
}
