/** `verbena ucmatose`: rdma-core's ucmatose with Verbena's adapters. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { PortSpace } from '../../index.ts'
import { addMessageOptions, checkFormat, type MessageOptions, messageSettings, runTool } from '../cm-kit/index.ts'
import { addCommonOptions, type CommonOptions, commonSettings, oneOf, parseInteger, wrongValue } from '../kit/index.ts'
import { runUcmatose, type UcmatoseSettings, ucmatosePort } from './run.ts'

const examples = `
Without -s it is the server. When all connections are established the server sends messages on each of them, then the client
responds with the same number, then the server disconnects. Options, messages and output are those of ucmatose of librdmacm,
which can be the peer in either role. -c, -C and -S must be the same at both ends.

Examples:
  verbena ucmatose -b 127.0.0.1                             a server in one terminal,
  verbena ucmatose -s 127.0.0.1                             its client in another
  verbena ucmatose --device shm:lab -c 20 -C 100            twenty connections in shared memory,
  verbena ucmatose --device shm:lab -c 20 -C 100 -s localhost --json      the client's result as JSON
  verbena ucmatose --device roce:10.77.0.1 -s 10.77.0.2 -m  against a machine with ucmatose -m`

interface Options extends CommonOptions, MessageOptions {
  f?: string
  P?: string
  p?: string
  t?: string
  a?: string
  m?: boolean
}

export function configure(command: Command): void {
  command.description('Connections of the RDMA CM and messages on them, as ucmatose does it.')
  addMessageOptions(command)
    .option('-f <format>', 'format of -s and -b: name, ip, ipv6 or gid (default: detected)')
    .option('-P <space>', 'port space: tcp or ib (default: tcp)')
    .option('-p <port>', `port (default: ${ucmatosePort})`)
    .option('-t <tos>', 'type of service, 0 to 255 (default: 0)')
    .option('-a <code>', 'local ACK timeout, 4.096 µs · 2^code (default: that of the RDMA CM)')
    .option('-m', 'move all ids to another event channel before they disconnect')
  addCommonOptions(command)
    .addHelpText('after', examples)
    .action(async (options: Options) => {
      endWith(await runTool(options.json === true, (run) => runUcmatose(settingsOf(options), run)))
    })
}

function settingsOf(options: Options): UcmatoseSettings {
  checkFormat(options.f)
  const space = options.P === undefined ? 'tcp' : oneOf('tcp', 'ib')(options.P)
  if (space === undefined) throw wrongValue('-P', options.P, ['tcp', 'ib'])
  return {
    ...commonSettings(options),
    ...messageSettings(options),
    portSpace: space === 'tcp' ? PortSpace.Tcp : PortSpace.Ib,
    port: parseInteger('-p', options.p, ucmatosePort, 1, 65535),
    tos: options.t === undefined ? undefined : parseInteger('-t', options.t, 0, 0, 255),
    ackTimeout: options.a === undefined ? undefined : parseInteger('-a', options.a, 14, 0, 31),
    migrate: options.m === true,
  }
}
