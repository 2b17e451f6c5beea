import { existsSync, readFileSync } from 'node:fs'

/** Folder of the nearest package.json above this module, as source or as bundled. */
export const packageFolder: URL = folderAbove(new URL('./', import.meta.url))

export const version: string = (
  JSON.parse(readFileSync(new URL('package.json', packageFolder), 'utf8')) as { version: string }
).version

function folderAbove(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder
  const above = new URL('../', folder)
  if (above.href === folder.href) throw new Error('there is no package.json above this module')
  return folderAbove(above)
}
