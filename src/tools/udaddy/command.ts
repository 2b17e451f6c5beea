/** `verbena udaddy`: rdma-core's udaddy with Verbena's adapters. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import {
  addMessageOptions,
  checkFormat,
  datagramSpace,
  type MessageOptions,
  messageSettings,
  portSpaceOf,
  runTool,
  type TwinSettings,
} from '../cm-kit/index.ts'
import { addCommonOptions, type CommonOptions, commonSettings, oneOf, parseInteger, wrongValue } from '../kit/index.ts'
import { runUdaddy, udaddyPort } from './run.ts'

const help = `
Without -s it is the server. The client requests the server's UD queue pair and sends it datagrams; when all have arrived
the server responds with the same number. Options, messages and output are those of udaddy of librdmacm, which can be the peer
in either role. -c, -C and -S must be the same at both ends; a datagram that is lost is not sent again. The port is
${udaddyPort}, as there is no option for it.

Examples:
  verbena udaddy -b 127.0.0.1                               a server in one terminal,
  verbena udaddy -s 127.0.0.1                               its client in another
  verbena udaddy --device shm:lab -C 1000 -S 2048           in shared memory,
  verbena udaddy --device shm:lab -C 1000 -S 2048 -s localhost --json
  verbena udaddy --device roce:10.77.0.1 -s 10.77.0.2       against a machine with udaddy`

interface Options extends CommonOptions, MessageOptions {
  f?: string
  P?: string
  p?: string
  t?: string
}

export function configure(command: Command): void {
  command.description('Datagrams between UD queue pairs that the RDMA CM finds, as udaddy does it.')
  addMessageOptions(command)
    .option('-f <format>', 'format of -s and -b: name, ip, ipv6 or gid (default: detected)')
    .option('-P <space>', 'port space: udp or ipoib (default: udp)')
    .option('-p <number>', 'port space by its number: 0x111 for UDP, 0x2 for IPoIB (default: 0x111)')
    .option('-t <tos>', 'type of service, 0 to 255 (default: 0)')
  addCommonOptions(command)
    .addHelpText('after', help)
    .action(async (options: Options) => {
      endWith(await runTool(options.json === true, (run) => runUdaddy(settingsOf(options), run)))
    })
}

function settingsOf(options: Options): TwinSettings {
  checkFormat(options.f)
  const space = options.P === undefined ? undefined : oneOf('udp', 'ipoib')(options.P)
  if (options.P !== undefined && space === undefined) throw wrongValue('-P', options.P, ['udp', 'ipoib'])
  return {
    ...commonSettings(options),
    ...messageSettings(options),
    portSpace: space === undefined ? portSpaceOf(options.p) : datagramSpace(space),
    port: udaddyPort,
    tos: options.t === undefined ? undefined : parseInteger('-t', options.t, 0, 0, 255),
  }
}
