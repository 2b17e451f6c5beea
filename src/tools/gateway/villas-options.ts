/** Options that the tools of VILLASnode have in common: -d and -V. */
import type { Command } from 'commander'
import { version } from '../../cli/terminal/index.ts'
import type { GatewayLogLevel } from '../../gateway/runtime/index.ts'
import { wrongValue } from '../kit/index.ts'

const logLevels = ['trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'] as const
export type LogLevelName = (typeof logLevels)[number]

/** Other names of levels that VILLASnode's logging library accepts. */
const otherNames: Readonly<Record<string, LogLevelName>> = { warn: 'warning', err: 'error' }
const levelOf: Readonly<Record<GatewayLogLevel, number>> = { debug: 1, info: 2, warn: 3, error: 4 }

/** Adds -V, and -d as `flag` with its usual level. */
export function addVillasOptions(command: Command, flag = '--log', usual: string = 'info'): Command {
  return command
    .option(
      `-d, ${flag} <level>`,
      `lowest level of messages that are printed: ${logLevels.join(', ')} (default: ${usual})`,
    )
    .version(version, '-V, --version', 'print the version')
}

/** Returns a predicate for the levels whose lines are printed, given the level of -d, or else `usual`. Throws a `UsageError`. */
export function saidLevels(
  text: string | undefined,
  usual: LogLevelName = 'info',
  flag = '--log',
): (level: GatewayLogLevel) => boolean {
  const name = text === undefined ? usual : (otherNames[text] ?? text)
  const least = logLevels.indexOf(name as LogLevelName)
  if (least < 0) throw wrongValue(flag, text, logLevels)
  return (level) => levelOf[level] >= least
}
