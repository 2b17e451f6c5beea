/** Options of an agent, and of the collector's address: the windows that are sent, their destination, and the token. */
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { note } from '../../cli/terminal/index.ts'
import { AgentClient, configOf } from '../../monitor/host/index.ts'
import { type MonitorConfig, MonitorError, plainText, type WindowPlan } from '../../monitor/index.ts'
import { fileOf, tokenIn, UsageError } from '../kit/index.ts'
import { urlOf } from './output.ts'
import { noteIfInClear, seedInClear } from './secret.ts'

export interface AgentOptions {
  collector?: string
  tokenFile?: string
  ca?: string
  name?: string
}

export function addAgentOptions(command: Command): Command {
  return command
    .option('--collector <url>', 'send windows to a collector, and print none (default: print them here)')
    .option('--token-file <file>', "the collector's token (default: the variable VERBENA_MONITOR_TOKEN)")
    .option('--ca <file>', "certificate of the collector's authority, PEM (default: those of Node.js)")
    .option('--name <name>', 'how the collector calls this agent (default: the name of the host)')
}

/** Returns the name of this agent, followed by a colon and its source, if there is one. */
export function nameOf({ name = hostname() }: AgentOptions, source?: string): string {
  if (name === '') throw new UsageError('--name', 'a name has one character at least')
  return plainText(source === undefined ? name : `${name}:${source}`)
}

export interface Connected {
  client: AgentClient
  config: MonitorConfig
}

/** Requests the plan of the collector. `canWait`: any number of windows may wait for the collector. `onPlan`: the plan has changed. */
export async function connect(
  options: AgentOptions,
  own: MonitorConfig,
  canWait: boolean,
  onPlan: (config: MonitorConfig) => void,
): Promise<Connected> {
  const { collector, ca } = options
  const { protocol, hostname: host } = new URL(urlOf('--collector', collector!))
  noteIfInClear(protocol === 'https:', host, "use the collector's https:// address.", seedInClear)
  const client = new AgentClient({
    ...{ url: urlOf('--collector', collector!), token: tokenOf(options.tokenFile) },
    ...(ca !== undefined && { ca: fileOf('--ca', ca) }),
    ...(canWait && { mostWaiting: Number.POSITIVE_INFINITY }),
    onState: note,
    onPlan: (plan: WindowPlan) => onPlan(configOf(plan, own)),
  })
  try {
    return { client, config: configOf(await client.plan(), own) }
  } catch (error) {
    const reason = error instanceof MonitorError ? error.message : `cannot be reached: ${(error as Error).message}`
    throw new UsageError('--collector', reason)
  }
}

/** Returns the first line of the file, or the variable. */
function tokenOf(file: string | undefined): string {
  return tokenIn('--token-file', file === undefined ? process.env.VERBENA_MONITOR_TOKEN : fileOf('--token-file', file))
}
