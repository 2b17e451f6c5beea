/** `verbena gateway node`: `villas node`, a gateway that runs until it is stopped, or until all its sources have ended. */
import { appendFileSync } from 'node:fs'
import type { Command } from 'commander'
import {
  currentRun,
  endWith,
  exitCodes,
  interruptible,
  isTerminal,
  note,
  printFailure,
  printJson,
  version,
} from '../../cli/terminal/index.ts'
import type { Api } from '../../gateway/api/index.ts'
import { GatewayError, type HttpConfig } from '../../gateway/index.ts'
import { type GatewayLogLevel, SuperNode } from '../../gateway/runtime/index.ts'
import { pageUrl } from '../../web/index.ts'
import { isLoopback, parseNumber, UsageError } from '../kit/index.ts'
import { readConfiguration } from './configuration.ts'

const levels = ['trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'] as const
const levelOf: Readonly<Record<GatewayLogLevel, number>> = { debug: 1, info: 2, warn: 3, error: 4 }

const help = `
It starts all nodes, then all paths, and says on standard error what happens. Ctrl-C or SIGTERM stop it in order: sources first, then
what they have sent is written; a second one ends it at once. With idle_stop = true in the configuration it also ends when nothing can come
any more, because all files and generators that it reads have come to their end.

With a group http in the configuration it has an HTTP API, live data and a page, on this host only unless http.host says otherwise. It
says where, with a token that callers have to know: http.token, or else one that is made at the start. The address with it opens the
page. --no-token (http.no_token) asks for none: then every user of this host, and every program that can reach the port, can run commands
as the user of the gateway.

With --json, one document comes at the end: duration (seconds), nodes and paths with their counts, failures.

Exit codes: 0 it has ended, or was stopped in order by SIGTERM; 1 the configuration has mistakes, or a node could not start or go on;
130 it was stopped by Ctrl-C.

Examples:
  verbena gateway node lab.conf
  verbena gateway node lab.json --duration 60 --json > counts.json`

interface Options {
  log?: string
  token: boolean
  duration?: string
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('Run a gateway: nodes and paths of a configuration.')
    .argument('<config>', "a file, or '-' for standard input")
    .option('-d, --log <level>', `least important lines that are said: ${levels.join(', ')} (default: logging.level)`)
    .option('--duration <seconds>', 'stop after this time (default: never)')
    .option('--no-token', 'dangerous: whoever reaches the API may do everything (default: they need a token)')
    .option('--json', 'print one JSON document at the end')
    .addHelpText('after', help)
    .action(run)
}

async function run(file: string, options: Options): Promise<void> {
  const loaded = readConfiguration(file)
  for (const { message } of loaded.errors) printFailure(message)
  if (loaded.errors.length > 0) return endWith(exitCodes.failed)
  const { config, placeOf } = loaded
  const http = httpOf(config.http, options)
  for (const { place, what } of loaded.notices) note(place === undefined ? what : `${place}: ${what}`)
  const durationMs =
    1000 * (options.duration === undefined ? 0 : parseNumber('--duration', options.duration, 60, 0.001, 1e9))
  const least = levels.indexOf(levelOption(options.log) ?? config.logging.level)
  const progress = new ProgressLine()
  const log = (level: GatewayLogLevel, owner: string, line: string): void => {
    if (levelOf[level] < least) return
    const text = owner === '' ? line : `${owner}: ${line}`
    if (config.logging.file !== null)
      appendFileSync(config.logging.file, `${new Date().toISOString()} ${level} ${text}\n`)
    progress.clear()
    if (level === 'error') printFailure(text)
    else note(text)
  }
  const interruption = interruptible('Stopping in order. Once more ends at once.', { isService: true })
  let timeout: NodeJS.Timeout | undefined
  let api: Api | undefined
  try {
    const gateway = await SuperNode.parse(config, { placeOf, log, watched: http.enabled })
    // A port that is taken is known before anything happens.
    if (http.enabled) api = await listen(gateway, http)
    const started = performance.now()
    await gateway.start()
    if (api !== undefined) announce(api, http)
    const stop = (): void => void gateway.stop()
    if (interruption.signal.aborted) stop()
    interruption.signal.addEventListener('abort', stop, { once: true })
    if (durationMs > 0) timeout = setTimeout(stop, durationMs)
    progress.follow(gateway)
    await gateway.done
    progress.clear()
    const duration = (performance.now() - started) / 1000
    if (options.json) printJson(document(gateway, duration))
    else note(summary(gateway, duration))
    endWith(interruption.exitCode() || (gateway.failures.length > 0 ? exitCodes.failed : exitCodes.done))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    progress.clear()
    printFailure(error.message)
    endWith(exitCodes.failed)
  } finally {
    clearTimeout(timeout)
    progress.stop()
    await api?.close()
    interruption.dispose()
  }
}

/** Those of the configuration, without a token if that was asked for. */
function httpOf(http: HttpConfig, { token: wantsToken }: Options): HttpConfig {
  if (wantsToken) return http
  if (http.token !== null) throw new UsageError('--no-token', 'the configuration has http.token')
  if (!isLoopback(http.host))
    throw new UsageError('--no-token', `whoever reaches ${http.host} (http.host) could control the gateway`)
  return { ...http, open: true }
}

/** The API of a gateway that is about to start. */
async function listen(gateway: SuperNode, http: HttpConfig): Promise<Api> {
  const { startApi } = await import('../../gateway/api/index.ts')
  return await startApi(gateway, http, { version, shutdown: () => void gateway.stop() })
}

/** A token that somebody has chosen they know: it is not printed where logs are kept. */
function announce({ url, token }: Api, http: HttpConfig): void {
  note(`the API and a live page: ${token === null || http.token !== null ? url : pageUrl(url, token)}`)
  if (token === null)
    note('there is no token: every user of this host can change the gateway, and run commands as its user')
  if (http.tls === null && !isLoopback(http.host))
    note('without TLS, whoever sees the traffic can read the token: set http.ssl_cert and http.ssl_private_key')
}

function levelOption(text: string | undefined): (typeof levels)[number] | undefined {
  const level = text === 'warn' ? 'warning' : text
  if (level === undefined || levels.includes(level as 'info')) return level as 'info' | undefined
  throw new UsageError('--log', `'${text}' is no level. Expected one of ${levels.join(', ')}`)
}

function document(gateway: SuperNode, duration: number): unknown {
  return { duration, nodes: gateway.nodes(), paths: gateway.paths(), failures: gateway.failures }
}

/** What the paths have done, in a line. */
function summary(gateway: SuperNode, duration: number): string {
  const paths = gateway.paths()
  const sum = (name: string): number => paths.reduce((all, { counts }) => all + counts[name]!, 0)
  const nodes = gateway.nodes()
  const lost = nodes.reduce((all, { counts }) => all + (counts.lost ?? 0), sum('no_samples'))
  const missed = nodes.reduce((all, { counts }) => all + (counts.missed_steps ?? 0), sum('missed'))
  const what = `${paths.length} path${paths.length === 1 ? '' : 's'} received ${sum('received')} samples and sent ${sum('sent')}`
  return `stopped after ${duration.toFixed(1)} s: ${what}; lost ${lost}, missed steps ${missed}`
}

/** Rates of the paths in one line of a terminal, which is written over. */
class ProgressLine {
  readonly #stream = currentRun().io.stderr
  #timer: NodeJS.Timeout | undefined
  #shown = false

  follow(gateway: SuperNode): void {
    if (!isTerminal(this.#stream)) return
    let before = new Map<string, number>()
    const started = performance.now()
    let last = started
    this.#timer = setInterval(() => {
      const now = performance.now()
      const sent = new Map(gateway.paths().map(({ text, counts }) => [text, counts.sent!]))
      const rates = [...sent].map(([text, count]) => {
        const rate = ((count - (before.get(text) ?? 0)) * 1000) / (now - last)
        return `${text}: ${Math.round(rate)}/s`
      })
      before = sent
      last = now
      this.clear()
      const line = `${Math.round((now - started) / 1000)} s  ${rates.join('   ')}`
      this.#stream.write(line.slice(0, (this.#stream.columns ?? 80) - 1))
      this.#shown = true
    }, 1000)
  }

  clear(): void {
    if (this.#shown) this.#stream.write('\r\u001b[2K')
    this.#shown = false
  }

  stop(): void {
    clearInterval(this.#timer)
    this.clear()
  }
}
