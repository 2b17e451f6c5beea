/** `verbena gateway pipe`: `villas pipe`, standard input to a node, and the node to standard output. */
import type { Command } from 'commander'
import { endWith, exitCodes, interruptible, note, printFailure } from '../../cli/terminal/index.ts'
import type { Api } from '../../gateway/api/index.ts'
import { formatNames, GatewayError, isGroup, type Settings } from '../../gateway/index.ts'
import { checkSettings, type GatewayLogLevel, SuperNode } from '../../gateway/runtime/index.ts'
import { parseInteger, parseNumber, UsageError } from '../kit/index.ts'
import { readConfiguration } from './configuration.ts'
import { formatSettings, parseFormat, parseSignals } from './formats.ts'
import { settingsOf } from './hook.ts'
import { announce, httpOf, listen } from './http.ts'
import { addVillasOptions, saidLevels } from './villas-options.ts'

const help = `
Samples of standard input are written to the node, and samples of the node to standard output; other nodes and the paths of the
configuration do not run. It ends at the end of standard input, unless there is a limit of samples to receive, or with -r. Peers of a
websocket node that is a server connect to the port of the configuration's group http.

Formats: ${formatNames.join(', ')}, or settings of one as JSON; see verbena gateway convert --help.

Examples:
  verbena gateway pipe lab.conf udp_node < log.dat
  verbena gateway pipe lab.conf udp_node -r -l 10 -f csv
  verbena gateway pipe lab.conf udp_node -s -o out.address=127.0.0.1:12000 < log.dat`

interface Options {
  format: string
  types: string
  option: string[]
  swap?: boolean
  send?: boolean
  receive?: boolean
  timeout?: string
  limitSend?: string
  limitReceive?: string
  logLevel?: string
  token: boolean
}

export function configure(command: Command): void {
  addVillasOptions(command, '--log-level')
    .description('Connect a node with standard input and output.')
    .argument('<config>', "a file, or '-' for standard input with -r")
    .argument('<node>', 'the name of a node in it')
    .option('-f, --format <format>', 'of standard input and output', 'villas.human')
    .option('-t, --types <types>', 'number and types of the values of standard input', '64f')
    .option('-o, --option <key=value>', 'a setting of the node', (each, all: string[]) => [...all, each], [])
    .option('-x, --swap', 'swap the settings in and out of the node')
    .option('-s, --send', 'only from standard input to the node')
    .option('-r, --receive', 'only from the node to standard output')
    .option('-T, --timeout <seconds>', 'stop after this time (default: never)')
    .option('-L, --limit-send <count>', 'stop after as many samples sent (default: never)')
    .option('-l, --limit-receive <count>', 'stop after as many samples received (default: never)')
    .option('--no-token', 'dangerous: every client of the API of a websocket server may do everything')
    .addHelpText('after', help)
    .action(run)
}

/** Milliseconds between two checks for the end. */
const lookMs = 20

async function run(file: string, name: string, options: Options): Promise<void> {
  const { send = false, receive = false } = options
  if (send && receive) throw new UsageError('--send', '--receive was given, too: leave both out for both directions')
  if (file === '-' && !receive) throw new UsageError('config', 'standard input has the samples. Expected a file, or -r')
  parseFormat('--format', options.format)
  const format = formatSettings('--format', options.format)
  const count = (flag: string, text: string | undefined): number =>
    text === undefined ? 0 : parseInteger(flag, text, 10, 1, Number.MAX_SAFE_INTEGER)
  const limits = {
    send: count('--limit-send', options.limitSend),
    receive: count('--limit-receive', options.limitReceive),
  }
  const seconds = options.timeout === undefined ? 0 : parseNumber('--timeout', options.timeout, 10, 0.001, 1e9)
  parseSignals('--types', options.types)
  const says = saidLevels(options.logLevel, 'info', '--log-level')
  const { node, http: given } = nodeSettings(file, name, options)
  const [input, output] = ['stdin', 'stdout'].map((each) => (each === name ? `${each}_` : each)) as [string, string]
  const nodes: Settings = { [name]: node }
  const paths: Settings[] = []
  if (!receive) {
    const signals = options.types
    nodes[input] = { type: 'file', uri: '-', format, in: { epoch_mode: 'original', limit: limits.send, signals } }
    paths.push({ in: input, out: name })
  }
  if (!send) {
    nodes[output] = { type: 'file', uri: '-', format, out: { flush: true, limit: limits.receive } }
    paths.push({ in: name, out: output })
  }
  const { config, errors } = checkSettings({ nodes, paths, idle_stop: true, stats: 1000 / lookMs, http: given })
  for (const { message } of errors) printFailure(message)
  if (errors.length > 0) return endWith(exitCodes.failed)
  const http = httpOf(config.http, options.token)
  const isServed = http.enabled && isServedByHttp(node)
  const log = (level: GatewayLogLevel, owner: string, line: string): void => {
    if (says(level) && owner !== input) note(`${owner}: ${line}`)
  }
  const interruption = interruptible('')
  let timer: NodeJS.Timeout | undefined
  let api: Api | undefined
  try {
    const gateway = await SuperNode.parse(config, { log })
    if (isServed) api = await listen(gateway, http)
    const stop = (): void => void gateway.stop()
    interruption.signal.addEventListener('abort', stop, { once: true })
    await gateway.start()
    if (api !== undefined) announce(api, http)
    if (interruption.signal.aborted) stop()
    const until = seconds > 0 ? performance.now() + 1000 * seconds : Number.POSITIVE_INFINITY
    const isOver = (): boolean => {
      if (performance.now() >= until) return true
      const found = gateway.nodes()
      const written = found.find((each) => each.name === output)?.counts.written ?? 0
      if (limits.receive > 0 && written >= limits.receive) return true
      return limits.receive === 0 && found.some((each) => each.name === input && each.state === 'stopping')
    }
    timer = setInterval(() => {
      if (isOver()) stop()
    }, lookMs)
    await gateway.done
    endWith(interruption.exitCode() ?? (gateway.failures.length > 0 ? exitCodes.failed : exitCodes.done))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    printFailure(error.message)
    endWith(exitCodes.failed)
  } finally {
    clearInterval(timer)
    await api?.close()
    interruption.dispose()
  }
}

/** True for a WebSocket without a port of its own, whose peers connect to that of the API. */
function isServedByHttp({ type, port, destinations }: Settings): boolean {
  return type === 'websocket' && port === undefined && destinations === undefined
}

/** Returns the settings of the node in the configuration, with those of -o and -x, and those of its API. */
function nodeSettings(file: string, name: string, options: Options): { node: Settings; http: unknown } {
  const { config } = readConfiguration(file)
  const nodes = config.settings.nodes
  const found = isGroup(nodes) ? nodes[name] : undefined
  if (!isGroup(found)) {
    const names = isGroup(nodes) ? Object.keys(nodes) : []
    throw new UsageError('node', `${file} has no node '${name}'. It has: ${names.join(', ') || 'none'}`)
  }
  const swapped = options.swap ? { ...found, in: found.out ?? {}, out: found.in ?? {} } : found
  return { node: merged(swapped, settingsOf(options.option)), http: config.settings.http }
}

function merged(settings: Settings, others: Settings): Settings {
  const all = { ...settings }
  for (const [key, value] of Object.entries(others)) {
    const old = all[key]
    all[key] = isGroup(old) && isGroup(value) ? merged(old, value) : value
  }
  return all
}
