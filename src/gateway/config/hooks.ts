/** The hooks of a node or path in a configuration: a list of names and groups. */
import { isGroup, type PlaceOf, type Settings, SettingsReader } from '../settings.ts'
import type { HookConfig } from './types.ts'

const hookKeys = ['type', 'priority', 'enabled']

/** Reads the setting `hooks` of `group`; empty if there is none. */
export function readHooks(of: string, group: Settings, placeOf: PlaceOf): HookConfig[] {
  const value = group.hooks ?? []
  const reader = new SettingsReader(of, group, Object.keys(group), placeOf)
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string' || isGroup(each)))
    reader.refuse('hooks', 'a list of hooks, each its name or a group with its type', '[{"type":"scale","scale":2}]')
  return (value as (string | Settings)[]).map((each, i) => {
    const settings = typeof each === 'string' ? { type: each } : each
    const hook = new SettingsReader(`${of}.hooks[${i}]`, settings, [], placeOf)
    return {
      type: hook.string('type', null, 'scale'),
      priority: hook.has('priority') ? hook.integer('priority', 0, -1000, 1000) : null,
      enabled: hook.boolean('enabled', true),
      settings,
    }
  })
}

/** Returns the reader from which the type of a hook reads its settings. */
export function settingsOfHook(of: string, hook: HookConfig, placeOf?: PlaceOf): SettingsReader {
  return new SettingsReader(`${of}: hook ${hook.type}`, hook.settings, hookKeys, placeOf)
}
