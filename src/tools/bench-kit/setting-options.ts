/** Options that come from a benchmark's table of settings. */
import { type Command, Option } from 'commander'
import { note } from '../../cli/terminal/index.ts'
import { addSynonym, deviceVariable, openAsked } from '../kit/index.ts'
import type { SettingOption } from './option.ts'
import type { LeftOut, Limits } from './product.ts'

/** Adds the options. Each may be repeated; its texts are collected and parsed later, where a wrong one can be explained. */
export function addSettings(command: Command, options: object): void {
  for (const option of Object.values(options) as SettingOption<unknown>[]) {
    const fallback = option.fallback
      .map((value) => (typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value)))
      .join(',')
    const text = fallback === '' ? option.description : `${option.description} (default: ${fallback})`
    const isDevice = option.flag === '--device'
    const defined = new Option(`${isDevice ? '-d, ' : ''}${option.flag} ${option.argument}`, text)
    // An empty VERBENA_DEVICE counts as none.
    defined.argParser((text: string, before: string[] | undefined) =>
      isDevice && text === '' ? before : [...(before ?? []), text],
    )
    if (option.argument.startsWith('[')) defined.preset('on')
    if (isDevice) defined.env(deviceVariable)
    command.addOption(defined)
    if (isDevice) addSynonym(command, `--ib-dev ${option.argument}`, 'device')
  }
}

/** Returns the limits that hold for all adapters of the run, as queried from the adapters themselves. */
export function limitsOf(pairs: readonly string[]): Limits {
  let mtu = Number.POSITIVE_INFINITY
  let maxInlineData = Number.POSITIVE_INFINITY
  for (const name of new Set(pairs.flatMap((pair) => pair.split(',')))) {
    const context = openAsked('--device', name)
    mtu = Math.min(mtu, context.queryPort(1).activeMtu)
    maxInlineData = Math.min(maxInlineData, context.queryDevice().maxInlineData)
    context.close()
  }
  return { mtu, maxInlineData }
}

export function tellLeftOut(leftOut: readonly LeftOut[]): void {
  for (const { reason, combinations } of leftOut)
    note(`left out ${combinations} ${combinations === 1 ? 'combination' : 'combinations'}: ${reason}`)
}
