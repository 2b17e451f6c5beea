import type { SettingsReader } from '../settings.ts'

/** Returns the key of a setting that VILLASnode spells in one way, and its documentation in another; both at once are an error. */
export function either(settings: SettingsReader, documented: string, read: string): string {
  if (settings.has(documented) && settings.has(read))
    settings.fail(`${settings.of}: '${documented}' and '${read}' say the same: only one of them may be there`, read)
  return settings.has(read) ? read : documented
}
