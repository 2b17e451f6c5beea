/**
 * Options with the same meaning in all commands: adapter, GID, waiting times, JSON. The letters are those of the original
 * program.
 */
import { type Command, Option } from 'commander'
import { checkKnown, checkShared, deviceFlag, deviceVariable } from './device.ts'
import { parseInteger, parseNumber } from './option.ts'

/** Adds another spelling of an option that `command` has, which help does not show. */
export function addSynonym(command: Command, flags: string, of: string): Command {
  const meant = command.options.find((option) => option.long === `--${of}`)!
  const name = meant.attributeName()
  const synonym = new Option(flags, `the same as --${of}`).hideHelp()
  return command.addOption(synonym).on(`option:${synonym.name()}`, (text: string) => {
    const value = meant.parseArg?.(text, command.getOptionValue(name)) ?? text
    command.setOptionValueWithSource(name, value, 'cli')
  })
}

export interface DeviceOptions {
  /** True to add `-d`, too. */
  short?: boolean
  /** Value if neither the option nor VERBENA_DEVICE is given. */
  fallback?: string
}

/** Adds `--device`, and `-d` and `--ib-dev` as perftest and rdma-core's ping-pongs spell it. */
export function addDeviceOption(command: Command, { short = true, fallback = 'roce' }: DeviceOptions = {}): Command {
  const text = `adapter: roce, roce:ADDRESS, shm:NAME (default: ${fallback})`
  const option = new Option(`${short ? '-d, ' : ''}--device <dev>`, text).env(deviceVariable)
  return addSynonym(command.addOption(option), '--ib-dev <dev>', 'device')
}

/** Adds the option of the GID index: −1 leaves the choice to the program. `letter` is the original's. */
export function addGidOption(command: Command, letter: string): Command {
  return command.option(
    `${letter}, --gid-index <index>`,
    'GID of the port (default: -1, none on InfiniBand and the best fit on Ethernet)',
  )
}

export function parseGidIndex(letter: string, text: string | undefined): number {
  return text === '-1' ? -1 : parseInteger(letter, text, -1, 0, 65535)
}

export interface RunOptions {
  wait?: string
  timeout?: string
  json?: boolean
}

/** Adds the options that limit how long the ends of a run wait for each other, and `--json`. */
export function addRunOptions(command: Command): Command {
  return command
    .option('--wait <seconds>', 'client: retry for this time while no server listens (default: 0)')
    .option('--timeout <seconds>', 'give up when nothing arrives for this time; 0: no limit (default: 60)')
    .option('--json', 'print one JSON document and nothing else')
}

export function runSettings({ wait, timeout }: RunOptions): { waitMs: number; stallMs: number } {
  return {
    waitMs: parseNumber('--wait', wait, 0, 0, 86_400) * 1000,
    stallMs: parseNumber('--timeout', timeout, 60, 0, 86_400) * 1000,
  }
}

/** Options of the programs on the RDMA CM and on rsockets. */
export interface CommonOptions extends RunOptions {
  device?: string
}

export function addCommonOptions(command: Command, options?: DeviceOptions): Command {
  return addRunOptions(addDeviceOption(command, options))
}

export function commonSettings(options: CommonOptions): {
  device: string | undefined
  waitMs: number
  stallMs: number
} {
  const device = options.device || undefined
  const flag = deviceFlag(device, '--device')
  checkShared(flag, device)
  checkKnown(flag, device)
  return { device, ...runSettings(options) }
}
