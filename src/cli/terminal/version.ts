import { readFileSync } from 'node:fs'

/** Verbena's version, from the nearest package.json above this module, as source or as bundled. */
export const version: string = versionAbove(new URL('./', import.meta.url))

function versionAbove(folder: URL): string {
  try {
    return (JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { version: string }).version
  } catch (error) {
    const above = new URL('../', folder)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above.href === folder.href) throw error
    return versionAbove(above)
  }
}
