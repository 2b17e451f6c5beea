/** `verbena cmtime`: rdma-core's cmtime with Verbena's adapters. */
import type { Command } from 'commander'
import { endWith } from '../../cli/terminal/index.ts'
import { type Output, runTool } from '../cm-kit/index.ts'
import { addCommonOptions, type CommonOptions, commonSettings, parseInteger } from '../kit/index.ts'
import { type CmtimeResult, type CmtimeSettings, cmtimePort, cmtimeTable, runCmtime } from './run.ts'

const examples = `
Without -s it is the server, which accepts connections until Ctrl-C. The client makes all its connections at once, step
by step, ends them, and shows how long the steps took: all connections together, the slowest and the fastest of them,
and the time for each. Options, messages and output are those of cmtime of librdmacm up to version 50, which can be the
peer in either role.

Examples:
  verbena cmtime -b 127.0.0.1                               a server in one terminal,
  verbena cmtime -s 127.0.0.1 -c 200                        its client in another
  verbena cmtime --device shm:lab                           in shared memory,
  verbena cmtime --device shm:lab -s localhost --json       as JSON, in microseconds`

interface Options extends CommonOptions {
  s?: string
  b?: string
  c?: string
  p?: string
  r?: string
  t?: string
}

export function configure(command: Command): void {
  command
    .description('How long the RDMA CM takes to make and end connections, as cmtime measures it.')
    .option('-s <server>', 'be the client of the server with this address or name')
    .option('-b <address>', 'own address or name to bind to')
    .option('-c <number>', 'connections (default: 100)')
    .option('-p <port>', `port (default: ${cmtimePort})`)
    .option('-r <number>', 'how often an address or route is resolved again (default: 2)')
    .option('-t <milliseconds>', 'how long resolving one may take (default: 2000)')
  addCommonOptions(command)
    .addHelpText('after', examples)
    .action(async (options: Options) => {
      const tellSteps = ({ role, steps }: CmtimeResult, output: Output): void => {
        if (role === 'client' && steps.length > 0) output.line(cmtimeTable(steps))
      }
      endWith(await runTool(options.json === true, (run) => runCmtime(settingsOf(options), run), tellSteps))
    })
}

function settingsOf(options: Options): CmtimeSettings {
  return {
    ...commonSettings(options),
    server: options.s,
    bind: options.b,
    connections: parseInteger('-c', options.c, 100, 1, 16_000),
    port: parseInteger('-p', options.p, cmtimePort, 1, 65535),
    retries: parseInteger('-r', options.r, 2, 0, 1000),
    resolveMs: parseInteger('-t', options.t, 2000, 0, 3_600_000),
  }
}
