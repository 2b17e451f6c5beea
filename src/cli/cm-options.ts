/** What the commands on the RDMA CM share: options that the originals do not have, Ctrl-C, and the end. */
import type { Command } from 'commander'
import type { CommonResult, CommonSettings, Output } from '../cmtools/index.ts'
import { parseNumber } from '../toolkit/index.ts'
import { exitCodes } from './failure.ts'
import { interruptible } from './interrupt.ts'

export interface CommonOptions {
  device?: string
  wait?: string
  timeout?: string
  json?: boolean
}

export function addCommonOptions(command: Command): Command {
  return command
    .option('--device <dev>', 'adapter: roce, roce:ADDRESS, shm:NAME (default: $VERBENA_DEVICE, else roce)')
    .option('--wait <seconds>', 'client: try so long while nobody listens (default: 0)')
    .option('--timeout <seconds>', 'give up when nothing comes for so long; 0 waits for ever (default: 60)')
    .option('--json', 'print one JSON document and nothing else')
}

export function commonSettings({ device, wait, timeout }: CommonOptions): CommonSettings {
  return {
    device,
    waitMs: parseNumber('--wait', wait, 0, 0, 86_400) * 1000,
    stallMs: parseNumber('--timeout', timeout, 60, 0, 86_400) * 1000,
  }
}

const quiet: Output = { line: () => {}, error: () => {} }
const terminal: Output = {
  line: (text) => process.stdout.write(`${text}\n`),
  error: (text) => process.stderr.write(`${text}\n`),
}

/** Runs a program to its end; the exit code. With `--json` only the result is printed. */
export async function runTool<R extends CommonResult>(
  json: boolean,
  run: (options: { output: Output; signal: AbortSignal }) => Promise<R>,
  last?: (result: R, output: Output) => void,
): Promise<number> {
  const interruption = interruptible('Stopping. Once more ends at once.')
  try {
    const result = await run({ output: json ? quiet : terminal, signal: interruption.signal })
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
    else last?.(result, terminal)
    const interrupted = interruption.exitCode()
    if (interrupted !== undefined) return interrupted
    if (result.failure === undefined) return exitCodes.done
    process.stderr.write(`verbena: ${result.failure.message}\n`)
    return exitCodes.failed
  } finally {
    interruption.dispose()
  }
}
