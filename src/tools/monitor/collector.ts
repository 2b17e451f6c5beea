/** `verbena monitor collector` */
import { once } from 'node:events'
import type { Command } from 'commander'
import { endWith, exitCodes, interruptible, note } from '../../cli/terminal/index.ts'
import { Collector } from '../../monitor/host/index.ts'
import { newToken, TlsError } from '../../web/index.ts'
import { fileOf, listenAddress, tokenIn, UsageError } from '../kit/index.ts'
import { addConfigOptions, type ConfigOptions, configFrom } from './config.ts'
import { addOutputOptions, alertHelp, keyHelp, Output, type OutputOptions } from './output.ts'
import { pageHelp } from './page.ts'
import { noteIfInClear, seedInClear, tlsOfServer } from './secret.ts'

const help = `
Agents (verbena monitor -i eth0 --collector URL) get the plan of windows from the collector, and send their windows. Windows of the same
time are merged. Up to eight windows wait for an agent that lags; an agent that sends nothing for ten windows (at least ten seconds) has
vanished. Windows of agents of another version, or with sketches of another seed or size, are rejected with the reason. With --save,
windows are on the disk before they are acknowledged: after a restart with the same file none is missing there, and none is counted twice.
The file contains the seed of the sketches: keep it secret.

All requests need a token: that of --token-file or of the variable VERBENA_MONITOR_TOKEN, or else one that is generated and printed, for
this run only. GET /metrics is for Prometheus, with the token as credentials.
For HTTPS give --tls-key and --tls-cert. Without them the collector listens on loopback only, unless --listen gives another address.
${keyHelp}
${pageHelp}
${alertHelp}

Examples:
  verbena monitor collector --token-file token
  verbena monitor collector --listen 0.0.0.0:9880 --token-file token --tls-key key.pem --tls-cert cert.pem --save windows
  verbena monitor collector --token-file token --page 0.0.0.0:9881 --page-token-file viewers --page-tls-key key.pem --page-tls-cert cert.pem
  verbena monitor collector --token-file token --alert 'anomaly.incast > 0 for 3' --alertmanager http://localhost:9093`

interface Options extends ConfigOptions, OutputOptions {
  listen: string
  tokenFile?: string
  tlsKey?: string
  tlsCert?: string
}

export function configure(command: Command): void {
  addOutputOptions(addConfigOptions(command))
    .description('Collect windows of many agents, merge those of one time, and show them.')
    .option('--listen <address>', 'a port of loopback, or address:port', '9880')
    .option(
      '--token-file <file>',
      'what agents must know (default: the variable VERBENA_MONITOR_TOKEN, else a new token, which is printed)',
    )
    .option('--tls-key <file>', 'private key, PEM (default: plain HTTP)')
    .option('--tls-cert <file>', 'certificate, PEM (default: plain HTTP)')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      const { save, ...shown } = options
      const variable = process.env.VERBENA_MONITOR_TOKEN
      const isMade = options.tokenFile === undefined && variable === undefined
      const token = isMade
        ? newToken()
        : tokenIn('--token-file', options.tokenFile ? fileOf('--token-file', options.tokenFile) : variable)
      const output = new Output(shown)
      const stop = interruptible('', { isService: true })
      try {
        const collector = await started(options, token, save, output)
        try {
          output.status = () => statusOf(collector)
          output.agents = () => collector.agents()
          await output.start()
          const { protocol, hostname } = new URL(collector.url)
          noteIfInClear(protocol === 'https:', hostname, 'give it --tls-key and --tls-cert.', seedInClear)
          note(`Collecting at ${collector.url}; Ctrl-C ends it.`)
          if (isMade) note(`Agents need VERBENA_MONITOR_TOKEN=${token}, or a file with it (--token-file).`)
          if (!stop.signal.aborted) await once(stop.signal, 'abort')
        } finally {
          await collector.close()
        }
        await output.close()
        endWith(stop.exitCode() ?? exitCodes.done)
      } finally {
        stop.dispose()
      }
    })
}

async function started(options: Options, token: string, file: string | undefined, output: Output): Promise<Collector> {
  const { host, port } = listenAddress('--listen', options.listen)
  const tls = tlsOfServer('--tls', options.tlsKey, options.tlsCert)
  try {
    return await Collector.start({
      ...{ plan: configFrom(options, file), token, host, port, onNote: note },
      ...(tls && { tls }),
      ...(file !== undefined && { file }),
      metrics: (agents) => output.metrics.text(agents),
      onWindow: (window) => output.window(window),
    })
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(error instanceof TlsError ? '--tls-key' : '--listen', (error as Error).message)
  }
}

function statusOf(collector: Collector): string[] {
  return collector
    .agents()
    .filter(({ state, aheadSeconds }) => state !== 'here' || aheadSeconds > 0)
    .map(({ name, state, heardMs, aheadSeconds }) =>
      aheadSeconds > 0
        ? `agent ${name}: its clock is ${aheadSeconds} s ahead, so its windows are not merged`
        : `agent ${name} ${state === 'lags' ? 'lags' : 'has vanished'}: heard ${new Date(heardMs).toISOString()}`,
    )
}
