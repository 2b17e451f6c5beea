/** `verbena riostream`: rdma-core's riostream with Verbena's adapters. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { entryModule } from '../../memory/index.ts'
import { addCommonOptions } from '../kit/index.ts'
import {
  addStreamOptions,
  collect,
  rstreamPort,
  runRsTool,
  type StreamOptions,
  streamSettings,
  testOptions,
} from '../rs-kit/index.ts'

const tool = { name: 'riostream', thread: entryModule(import.meta.url, './riostream-thread') }

const examples = `
Without -s it is the server. Like rstream, but each end writes straight into memory that the other has mapped for it
(riomap, riowrite), and looks at the last byte there until it changes. Options, messages and output are those of
riostream of librdmacm, which can be the peer in either role. -I, -C, -S and the v of -T must be the same at both ends.

  -T a  async          poll before every send and receive
  -T b  blocking       calls that block (default: they return at once and are retried)
  -T n  nonblocking    the default
  -T r  resolve        nothing changes: addresses are always resolved by the RDMA CM
  -T v  verify         check every byte but the last; exit code 1 if one is wrong

Examples:
  verbena riostream -b 127.0.0.1                            a server in one terminal,
  verbena riostream -s 127.0.0.1                            its client in another
  verbena riostream --device shm:lab -S 65536 -I 1000 -C 1 -T v     in shared memory,
  verbena riostream --device shm:lab -S 65536 -I 1000 -C 1 -T v -s localhost --json`

export function configure(command: Command): void {
  command.description('Latency and bandwidth of writes into mapped memory over rsockets, as riostream measures them.')
  addStreamOptions(command, rstreamPort).option(
    '-T <option>',
    'what and how to test, see below; may be repeated',
    collect,
  )
  addCommonOptions(command)
    .addHelpText('after', examples)
    .action(async (options: StreamOptions) => {
      const chosen = testOptions(options.T, ['async', 'blocking', 'nonblocking', 'resolve', 'verify'])
      const settings = streamSettings(options, chosen)
      const role = options.s === undefined ? 'server' : 'client'
      endWith(await runRsTool(tool, settings, role, options.json === true))
    })
}
