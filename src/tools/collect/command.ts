/** `verbena collect`: sources of a host about its RDMA traffic, each kind a command of its own. */
import type { Command } from 'commander'
import { addSubcommands } from '../kit/index.ts'

const examples = `
Devices are those of the kernel (mlx5, mlx4, rxe, siw, bnxt_re, irdma, hns, and others by their drivers' own names) and Verbena's own.
Each counter has the same name and the same unit for all drivers.

Examples:
  verbena collect counters                           all counters that are not zero
  verbena collect counters --interval 1              and their rates, every second
  verbena collect l2                                 RoCE settings of this host, and their consequences
  verbena collect trace -i eth0 -w roce.pcapng       RoCE packets as they pass
  verbena collect --out monday --duration 60         all of it, in a folder`

export async function configure(command: Command, words?: readonly string[]): Promise<void> {
  command
    .description('Collect data on the RDMA traffic of this host, from its devices or from a recorded tree.')
    .addHelpText('after', examples)
  await addSubcommands(
    command,
    {
      counters: {
        summary: 'counters of all RDMA devices in one vocabulary, with rates',
        load: () => import('./counters.ts'),
      },
      l2: {
        summary: 'interfaces that carry RoCE: MTU, PFC, DSCP, ECN, GIDs, with findings',
        load: () => import('./l2.ts'),
      },
      trace: { summary: 'RoCE packets of interfaces into pcap or pcapng files', load: () => import('./trace.ts') },
      session: {
        summary: 'all of it in a folder; collect --out DIR is the same',
        load: () => import('./session.ts'),
        isDefault: true,
      },
    },
    words,
  )
}
