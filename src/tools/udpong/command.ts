/** `verbena udpong`: rdma-core's udpong with Verbena's adapters. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { entryModule } from '../../memory/index.ts'
import { addCommonOptions, type CommonOptions, commonSettings, parseInteger } from '../kit/index.ts'
import { collect, portOf, runRsTool, testOptions } from '../rs-kit/index.ts'
import { maxMessageBytes } from './message.ts'
import { type UdpongSettings, udpongPort } from './run.ts'

const tool = { name: 'udpong', thread: entryModule(import.meta.url, './udpong-thread') }

const examples = `
Without -s it is the server, which runs until Ctrl-C. The client sends datagrams over rsockets: first echoed ones
(latency), then one-way ones whose arrival the server counts (bandwidth). With -C or -S there is only one test. Options,
messages and output are those of udpong of librdmacm.

  -T s  sockets        UDP of the kernel instead of rsockets, by the same loops and system calls
  -T a  async          poll before every call
  -T b  blocking       calls that block (default: they return at once and are retried)
  -T n  nonblocking    the default
  -T e  echo           with -C or -S: the server sends everything back

Examples:
  verbena udpong -b 127.0.0.1                               a server in one terminal,
  verbena udpong -s 127.0.0.1                               its client in another
  verbena udpong --device shm:lab                           in shared memory,
  verbena udpong --device shm:lab -s localhost -S 1024 -C 10000 -T e --json
  verbena udpong -T s -p 7175                               kernel UDP, to compare with,
  verbena udpong -T s -p 7175 -s localhost`

interface Options extends CommonOptions {
  s?: string
  b?: string
  B?: string
  C?: string
  S?: string
  p?: string
  T?: string[]
}

export function configure(command: Command): void {
  command
    .description('Latency and bandwidth of datagrams over rsockets, as udpong measures them.')
    .option('-s <server>', 'be the client of the server with this address or name')
    .option('-b <address>', 'own address or name to bind to')
    .option('-B <bytes>', 'size of the send and receive buffer (default: 524288)')
    .option('-C <number>', 'datagrams of one test of your own (default: 1000)')
    .option('-S <bytes>', `size of its datagrams, 16 to ${maxMessageBytes} (default: 1000)`)
    .option('-p <port>', `port (default: ${udpongPort})`)
    .option('-T <option>', 'options of the test, see below; may be repeated', collect)
  addCommonOptions(command)
    .addHelpText('after', examples)
    .action(async (options: Options) => {
      const role = options.s === undefined ? 'server' : 'client'
      endWith(await runRsTool(tool, settingsOf(options), role, options.json === true))
    })
}

function settingsOf(options: Options): UdpongSettings {
  const chosen = testOptions(options.T, ['socket', 'async', 'blocking', 'nonblocking', 'echo'])
  const size = parseInteger('-S', options.S, 1000, 16, maxMessageBytes)
  const count = parseInteger('-C', options.C, 1000, 1, 0x7fffffff)
  return {
    ...commonSettings(options),
    server: options.s,
    bind: options.b,
    port: portOf(options.p, udpongPort),
    kernel: chosen.has('socket'),
    async: chosen.has('async'),
    blocking: chosen.has('blocking'),
    echo: chosen.has('echo'),
    custom: options.S === undefined && options.C === undefined ? undefined : { size, count },
    bufferBytes: parseInteger('-B', options.B, 0, 0, 0x40000000),
  }
}
