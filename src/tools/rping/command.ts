/** `verbena rping`: rdma-core's rping with Verbena's adapters. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { runTool } from '../cm-kit/index.ts'
import { addCommonOptions, type CommonOptions, commonSettings, parseInteger, UsageError } from '../kit/index.ts'
import { maxPingBytes, minPingBytes } from './message.ts'
import { type RpingSettings, rpingPort, runRping } from './run.ts'

const examples = `
The client puts text into a buffer, the server reads it with RDMA READ and writes it back with RDMA WRITE. Options,
messages and output are those of rping of librdmacm, which can be the peer in either role.

Examples:
  verbena rping -s -a 127.0.0.1 -v                           a server in one terminal,
  verbena rping -c -a 127.0.0.1 -v -V -C 10                  its client in another
  verbena rping -s --device shm:lab -P                       a server for many clients, in shared memory
  verbena rping -c --device shm:lab -a localhost -C 1000 --json
  verbena rping -c --device roce:10.77.0.1 -a 10.77.0.2 -C 5 -S 100 -v    against a machine with rping -s`

interface Options extends CommonOptions {
  s?: boolean
  c?: boolean
  a?: string
  I?: string
  p?: string
  C?: string
  S?: string
  v?: boolean
  V?: boolean
  d?: boolean
  P?: boolean
  q?: boolean
}

export function configure(command: Command): void {
  command
    .description('Ping-pong with RDMA READ and WRITE over a connection of the RDMA CM, as rping does it.')
    .option('-s', 'be the server')
    .option('-c', 'be the client')
    .option('-a <address>', "the server's address or name; without it a server listens on all addresses")
    .option('-I <address>', "client: its own address (default: the adapter's that leads there)")
    .option('-p <port>', `port (default: ${rpingPort})`)
    .option('-C <count>', 'client: pings; 0 runs until Ctrl-C (default: 0)')
    .option('-S <bytes>', `size of the buffer, ${minPingBytes} to ${maxPingBytes} (default: 64)`)
    .option('-v', 'show the data of each ping')
    .option('-V', 'client: check the data of each ping; exit code 1 if it is wrong')
    .option('-d', 'show debug messages')
    .option('-P', 'server: continue for other clients, also several at a time, until Ctrl-C')
    .option('-q', 'make and move the queue pair in the program instead of in the RDMA CM')
  // In the original, -d is for debugging.
  addCommonOptions(command, { short: false })
    .addHelpText('after', examples)
    .action(async (options: Options) => {
      endWith(await runTool(options.json === true, (run) => runRping(settingsOf(options), run)))
    })
}

function settingsOf(options: Options): RpingSettings {
  if (options.s === options.c) throw new UsageError('-s or -c', 'say which end this is: -s the server, -c the client')
  const role = options.s ? 'server' : 'client'
  if (role === 'client' && options.a === undefined)
    throw new UsageError('-a', "the client needs the server's address, for example: -a 127.0.0.1")
  if (role === 'client' && options.P) throw new UsageError('-P', 'is for the server')
  if (role === 'server' && options.I !== undefined)
    throw new UsageError('-I', "is for the client; the server's own address is -a")
  return {
    ...commonSettings(options),
    role,
    address: options.a,
    source: options.I,
    port: parseInteger('-p', options.p, rpingPort, 1, 65535),
    size: parseInteger('-S', options.S, 64, minPingBytes, maxPingBytes),
    count: parseInteger('-C', options.C, 0, 0, 0x7fffffff),
    verbose: options.v === true,
    validate: options.V === true,
    debug: options.d === true,
    persistent: options.P === true,
    selfMadeQp: options.q === true,
  }
}
