/** Expansion of strings: `${NAME}` is replaced by a variable of the environment, and "@include FILE" by the contents of the file. */
import { isGroup, type Settings } from '../settings.ts'
import { limits, type Places, refuseText } from './places.ts'

export interface Expansion {
  readonly places: Places
  variable(name: string): string | undefined
  /** Returns the values of the files that a pattern names, expanded. Throws a `GatewayError` that begins with `place`. */
  include(pattern: string, place: string): readonly unknown[]
}

const keyword = '@include '

/** Replaces strings in settings; in place, so that they keep their places. */
export function expand(settings: Settings | unknown[], expansion: Expansion, depth = 0): void {
  if (depth > limits.depth)
    refuseText(placeIn(settings, undefined, expansion), 'files include each other without an end')
  for (const [key, value] of Object.entries(settings)) {
    if (Array.isArray(value) || isGroup(value)) expand(value, expansion, depth + 1)
    else if (typeof value === 'string')
      (settings as Settings)[key] = expandText(value, placeIn(settings, key, expansion), expansion)
  }
}

function expandText(text: string, place: string, expansion: Expansion): unknown {
  const whole = text.replace(/\$\{([^}$]{1,256})\}/g, (_, name: string) => {
    const value = expansion.variable(name)
    if (value === undefined) refuseText(place, `the environment has no variable ${name}`)
    return value
  })
  if (!text.startsWith(keyword)) return whole
  return expansion.include(whole.slice(keyword.length).trim(), place).reduce(merge)
}

/** Merges as VILLASnode does: lists are concatenated, groups are merged key by key; otherwise the last value counts. */
function merge(a: unknown, b: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b]
  if (!isGroup(a) || !isGroup(b)) return b
  for (const [key, value] of Object.entries(b)) a[key] = Object.hasOwn(a, key) ? merge(a[key], value) : value
  return a
}

function placeIn(settings: Settings | unknown[], key: string | undefined, { places }: Expansion): string {
  return places.of(settings as Settings, key) ?? 'the configuration'
}
