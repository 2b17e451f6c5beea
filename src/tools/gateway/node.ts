/** `verbena gateway node`: `villas node`, a gateway that runs until it is stopped, or until all its sources have ended. */
import { appendFileSync } from 'node:fs'
import type { Command } from 'commander'
import {
  endWith,
  exitCodes,
  interruptible,
  note,
  printFailure,
  printJson,
  StatusLine,
} from '../../cli/terminal/index.ts'
import type { Api } from '../../gateway/api/index.ts'
import { GatewayError } from '../../gateway/index.ts'
import { type GatewayLogLevel, SuperNode } from '../../gateway/runtime/index.ts'
import { parseNumber, UsageError } from '../kit/index.ts'
import { readConfiguration } from './configuration.ts'
import { announce, httpOf, listen } from './http.ts'
import { addVillasOptions, saidLevels } from './villas-options.ts'

const help = `
The command starts all nodes, then all paths, and reports events on standard error. Ctrl-C or SIGTERM stop it in order: sources first, then
their remaining samples are written; a second signal ends it at once. With idle_stop = true in the configuration it also ends when no more
samples can come, because all files and generators that it reads have ended.

With a group http in the configuration it has an HTTP API, live data and a page, on this host only unless http.host gives another address.
It prints the address with the token that clients need: http.token, or else one that is generated at the start. This address opens the
page. With --no-token (http.no_token) every user of this host, and every program that can reach the port, can run commands
as the user of the gateway.

With --json, one document is printed at the end: duration (seconds), nodes and paths with their counts, failures.

Exit codes: 0 it has ended, or was stopped in order by SIGTERM; 1 the configuration has mistakes, or a node could not start or continue;
130 it was stopped by Ctrl-C.

Examples:
  verbena gateway node lab.conf
  verbena gateway node lab.json --duration 60 --json > counts.json`

interface Options {
  log?: string
  capabilities?: boolean
  token: boolean
  duration?: string
  json?: boolean
}

export function configure(command: Command): void {
  addVillasOptions(command, '--log', 'logging.level')
    .description('Run a gateway: nodes and paths of a configuration.')
    .argument('[config]', "a file, or '-' for standard input")
    .option('-C, --capabilities', 'print node-types, hooks, formats and requests of the API as JSON; nothing runs')
    .option('--duration <seconds>', 'stop after this time (default: never)')
    .option('--no-token', 'dangerous: every client of the API may do everything (default: clients need a token)')
    .option('--json', 'print one JSON document at the end')
    .addHelpText('after', help)
    .action(run)
}

async function run(file: string | undefined, options: Options): Promise<void> {
  if (options.capabilities) return printJson((await import('../../gateway/api/index.ts')).capabilities())
  if (file === undefined) throw new UsageError('config', "it is missing. Expected a file, or '-' for standard input")
  const loaded = readConfiguration(file)
  for (const { message } of loaded.errors) printFailure(message)
  if (loaded.errors.length > 0) return endWith(exitCodes.failed)
  const { config, placeOf } = loaded
  const http = httpOf(config.http, options.token)
  for (const { place, what } of loaded.notices) note(place === undefined ? what : `${place}: ${what}`)
  const durationMs =
    1000 * (options.duration === undefined ? 0 : parseNumber('--duration', options.duration, 60, 0.001, 1e9))
  const says = saidLevels(options.log, config.logging.level)
  const progress = new ProgressLine()
  const log = (level: GatewayLogLevel, owner: string, line: string): void => {
    if (!says(level)) return
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
    // The API is started first, so that a port in use is detected before anything else happens.
    if (http.enabled) api = await listen(gateway, http)
    const started = performance.now()
    const stop = (): void => void gateway.stop()
    interruption.signal.addEventListener('abort', stop, { once: true })
    await gateway.start()
    if (api !== undefined) announce(api, http)
    if (interruption.signal.aborted) stop()
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

function document(gateway: SuperNode, duration: number): unknown {
  return { duration, nodes: gateway.nodes(), paths: gateway.paths(), failures: gateway.failures }
}

/** Returns the counts of the paths in one line. */
function summary(gateway: SuperNode, duration: number): string {
  const paths = gateway.paths()
  const sum = (name: string): number => paths.reduce((all, { counts }) => all + counts[name]!, 0)
  const nodes = gateway.nodes()
  const lost = nodes.reduce((all, { counts }) => all + (counts.lost ?? 0), sum('no_samples'))
  const missed = nodes.reduce((all, { counts }) => all + (counts.missed_steps ?? 0), sum('missed'))
  const what = `${paths.length} path${paths.length === 1 ? '' : 's'} received ${sum('received')} samples and sent ${sum('sent')}`
  return `stopped after ${duration.toFixed(1)} s: ${what}; lost ${lost}, missed steps ${missed}`
}

/** Line of a terminal with the rates of the paths, which is rewritten. */
class ProgressLine {
  readonly #line = new StatusLine()
  #timer: NodeJS.Timeout | undefined

  follow(gateway: SuperNode): void {
    if (!this.#line.visible) return
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
      this.#line.show(`${Math.round((now - started) / 1000)} s  ${rates.join('   ')}`)
    }, 1000)
  }

  /** Removes the line until the next second. */
  clear(): void {
    this.#line.clear()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.clear()
  }
}
