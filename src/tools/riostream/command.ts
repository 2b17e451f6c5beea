/** `verbena riostream`: rdma-core's riostream with Verbena's adapters. */
import type { Command } from 'commander'
import { entryModule } from '../../memory/index.ts'
import { configureStreams } from '../rs-kit/index.ts'

const help = `
Without -s it is the server. The program is like rstream, but each end writes directly into memory that the other end has mapped for it
(riomap, riowrite), and polls the last byte there until it changes. Options, messages and output are those of
riostream of librdmacm, which can be the peer in either role. -I, -C, -S and the v of -T must be the same at both ends.

  -T a  async          poll before every send and receive
  -T b  blocking       calls that block (default: they return at once and are retried)
  -T n  nonblocking    the default
  -T r  resolve        no effect: addresses are always resolved by the RDMA CM
  -T v  verify         check every byte but the last; exit code 1 if one is wrong

Examples:
  verbena riostream -b 127.0.0.1                            a server in one terminal,
  verbena riostream -s 127.0.0.1                            its client in another
  verbena riostream --device shm:lab -S 65536 -I 1000 -C 1 -T v     in shared memory,
  verbena riostream --device shm:lab -S 65536 -I 1000 -C 1 -T v -s localhost --json`

export function configure(command: Command): void {
  configureStreams(command, {
    name: 'riostream',
    thread: entryModule(import.meta.url, './riostream-thread'),
    description: 'Latency and bandwidth of writes into mapped memory over rsockets, as riostream measures them.',
    help,
    tests: ['async', 'blocking', 'nonblocking', 'resolve', 'verify'],
  })
}
