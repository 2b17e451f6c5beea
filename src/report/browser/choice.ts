/** Choice of the reader among the settings that differ between the sets, for all charts and tables of the page. */

import { button, element, pressed } from '../../page/index.ts'
import type { Settings } from '../charts/index.ts'
import { formatBytes, formatNsExact } from '../format.ts'
import type { Setting } from '../results.ts'

export interface Choice {
  /** True if the choice includes these settings. Settings that are not offered for choice are included. */
  chosen(settings: Settings): boolean
}

/** Adds the buttons to `place`; `changed` is called after each press. */
export function settingChoice(
  place: HTMLElement,
  settings: Readonly<Record<string, readonly Setting[]>>,
  changed: () => void,
): Choice {
  const dropped = new Map(Object.keys(settings).map((key) => [key, new Set<Setting>()]))
  if (dropped.size > 0) {
    const fold = element('details')
    fold.id = 'choice'
    fold.append(element('summary', {}, 'Choose what to show'))
    for (const [key, values] of Object.entries(settings)) fold.append(setting(key, values, dropped.get(key)!, changed))
    place.append(fold)
  }
  return {
    chosen: (of) => Object.entries(of).every(([key, value]) => !dropped.get(key)?.has(value)),
  }
}

function setting(key: string, values: readonly Setting[], dropped: Set<Setting>, changed: () => void): HTMLElement {
  const made = element('fieldset', {}, element('legend', {}, key))
  const buttons = values.map((value) => {
    const one = button(valueText(key, value), `Show or hide ${key} ${value}`, () => {
      if (!dropped.delete(value)) dropped.add(value)
      // With no value left the page would be empty: so that selects all.
      if (dropped.size === values.length) dropped.clear()
      for (const [index, other] of buttons.entries()) pressed(other, !dropped.has(values[index]!))
      changed()
    })
    pressed(one, true)
    return one
  })
  made.append(...buttons)
  return made
}

function valueText(key: string, value: Setting): string {
  if (key === 'size' && typeof value === 'number') return formatBytes(value)
  if (key === 'pause' && typeof value === 'number') return formatNsExact(value)
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}
