/** `verbena mckey`: rdma-core's mckey with Verbena's adapters. */
import { isIPv6 } from 'node:net'
import { type Command, Option } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { addCountOptions, type CountOptions, countSettings, portSpaceOf, runTool } from '../cm-kit/index.ts'
import {
  addCommonOptions,
  type CommonOptions,
  commonSettings,
  parseNumber,
  UsageError,
  wrongValue,
} from '../kit/index.ts'
import { type MckeySettings, runMckey } from './run.ts'

const help = `
The program joins a multicast group. With -s it sends datagrams to it, without -s it waits for as many datagrams. Options, messages
and output are those of mckey of librdmacm, which can be the peer in either role. Start the receivers first: a datagram that is lost
is not sent again. As in the original, both roles wait for 3 seconds after joining.
Not supported (the error has the reason): -l

Examples:
  verbena mckey -m 239.1.2.3 -b 10.77.0.1                   a receiver, on one host,
  verbena mckey -m 239.1.2.3 -b 10.77.0.2 -s                a sender, on another host
  verbena mckey --device shm:lab -m 239.1.2.3               in shared memory,
  verbena mckey --device shm:lab -m 239.1.2.3 -s --json`

interface Options extends CommonOptions, CountOptions {
  m?: string
  M?: string
  s?: boolean
  b?: string
  p?: string
  o?: boolean
  l?: boolean
  settle?: string
}

export function configure(command: Command): void {
  command
    .description('Datagrams to a multicast group, as mckey does it.')
    .option('-m <address>', 'IP address of the group')
    .option('-M <gid>', 'GID of the group, instead of -m; needs -b')
    .option('-s', 'send to the group')
    .option('-b <address>', 'own address or name to bind to')
  addCountOptions(command)
    .option('-p <number>', 'port space by its number: 0x111 for UDP, 0x2 for IPoIB (default: 0x111)')
    .option('-o', 'join to send only')
    .addOption(new Option('-l').hideHelp())
    .option('--settle <seconds>', 'seconds to wait after joining (default: 3)')
  addCommonOptions(command)
    .addHelpText('after', help)
    .action(async (options: Options) => {
      endWith(await runTool(options.json === true, (run) => runMckey(settingsOf(options), run)))
    })
}

function settingsOf(options: Options): MckeySettings {
  const group = options.m ?? options.M
  if (group === undefined) throw new UsageError('-m', 'which group? For example: -m 239.1.2.3')
  if (options.M !== undefined && options.b === undefined)
    throw new UsageError('-M', 'a GID needs an address to bind to: -b')
  if (options.M !== undefined && !isIPv6(options.M)) throw wrongValue('-M', options.M, 'a GID', 'ff0e::1:3')
  if (options.l) throw new UsageError('-l', 'members on the same adapter always get what is sent: leave it out')
  return {
    ...commonSettings(options),
    ...countSettings(options),
    group,
    sender: options.s === true,
    sendOnly: options.o === true,
    bind: options.b,
    portSpace: portSpaceOf(options.p),
    settleMs: parseNumber('--settle', options.settle, 3, 0, 3600) * 1000,
  }
}
