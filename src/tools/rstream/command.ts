/** `verbena rstream`: rdma-core's rstream with Verbena's adapters. */
import type { Command } from 'commander'
import { entryModule } from '../../memory/index.ts'
import { configureStreams } from '../rs-kit/index.ts'

const help = `
Without -s it is the server. The client sends messages and the server sends the same number back, over rsockets: first single
ones of several sizes (latency), then many at a time (bandwidth). With -I, -C or -S SIZE there is one test only. Options,
messages and output are those of rstream of librdmacm, which can be the peer in either role. -I, -C, -S and the v of -T
must be the same at both ends.

  -T s  sockets        TCP of the kernel instead of rsockets, by the same loops and system calls
  -T a  async          poll before every call
  -T b  blocking       calls that block (default: they return at once and are retried)
  -T n  nonblocking    the default
  -T r  resolve        no effect: addresses are always resolved by the RDMA CM
  -T v  verify         check every byte; exit code 1 if one is wrong
  -T f                 is not supported; the error has the reason

Examples:
  verbena rstream -b 127.0.0.1                              a server in one terminal,
  verbena rstream -s 127.0.0.1                              its client in another
  verbena rstream --device shm:lab                          in shared memory,
  verbena rstream --device shm:lab -s localhost -S 4096 -I 1000 -C 1 -T v
  verbena rstream -T s                                      kernel TCP, to compare with,
  verbena rstream -T s -s localhost --json`

export function configure(command: Command): void {
  configureStreams(command, {
    name: 'rstream',
    thread: entryModule(import.meta.url, './rstream-thread'),
    description: 'Latency and bandwidth of streams over rsockets, as rstream measures them.',
    help,
    tests: ['socket', 'async', 'blocking', 'fork', 'nonblocking', 'resolve', 'verify'],
    addOptions: (command) => command.option('-k <seconds>', 'send keepalives after this much silence'),
  })
}
