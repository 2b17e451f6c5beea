/** Options common to the librdmacm-style commands, beyond those of the originals. */
import type { Command } from 'commander'
import { checkShared } from './device.ts'
import { parseNumber } from './option.ts'

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

export function commonSettings({ device, wait, timeout }: CommonOptions): {
  device: string | undefined
  waitMs: number
  stallMs: number
} {
  checkShared('--device', device ?? (process.env.VERBENA_DEVICE || undefined))
  return {
    device,
    waitMs: parseNumber('--wait', wait, 0, 0, 86_400) * 1000,
    stallMs: parseNumber('--timeout', timeout, 60, 0, 86_400) * 1000,
  }
}
