/** Options of an agent, and of the collector's address: which windows go where, with which token. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { note } from '../../cli/terminal/index.ts'
import { AgentClient, configOf } from '../../monitor/host/index.ts'
import { type MonitorConfig, MonitorError, type WindowPlan } from '../../monitor/index.ts'
import { UsageError } from '../kit/index.ts'
import { urlOf } from './output.ts'

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

export interface Connected {
  client: AgentClient
  config: MonitorConfig
}

/** Asks the collector for its plan. `canWait`: any number of windows may wait for the collector. `onPlan`: it has changed. */
export async function connect(
  options: AgentOptions,
  own: MonitorConfig,
  canWait: boolean,
  onPlan: (config: MonitorConfig) => void,
): Promise<Connected> {
  const { collector, ca, name = hostname() } = options
  const client = new AgentClient({
    ...{ url: urlOf('--collector', collector!), token: tokenOf(options.tokenFile), name },
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

const leastToken = 16

/** The first line of the file, or the variable. */
export function tokenOf(file: string | undefined): string {
  const token = file === undefined ? process.env.VERBENA_MONITOR_TOKEN : fileOf('--token-file', file)
  const [line = ''] = (token ?? '').split('\n').map((one) => one.trim())
  if (line === '')
    throw new UsageError(
      '--token-file',
      'a token is needed: a file with one line, for example of `openssl rand -hex 32`',
    )
  if (line.length < leastToken || /\s/.test(line))
    throw new UsageError('--token-file', `the token must have ${leastToken} characters at least, and no spaces`)
  return line
}

export function fileOf(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(flag, `'${path}' cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
