/** The files that an `@include` names. */
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { refuseText } from '../index.ts'

/**
 * Paths of the files, sorted, which the pattern names in one of the folders, the first that has any; `*` and `?` stand for
 * characters of the name. `place`: of the include, for errors.
 */
export function filesOf(pattern: string, folders: readonly string[], place: string): string[] {
  const candidates = isAbsolute(pattern) ? [pattern] : [...new Set(folders.map((folder) => join(folder, pattern)))]
  for (const candidate of candidates) {
    const files = matching(candidate)
    if (files.length > 0) return files
  }
  return refuseText(place, `@include "${pattern}" names no file. Looked for: ${candidates.join(', ')}`)
}

function matching(pattern: string): string[] {
  const folder = dirname(pattern)
  const name = basename(pattern)
  if (!/[*?]/.test(name)) return isFile(pattern) ? [pattern] : []
  const parts = name
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '[^/]*')
    .replace(/\?/g, '[^/]')
  const wanted = new RegExp(`^${parts}$`)
  try {
    const names = readdirSync(folder).filter((each) => wanted.test(each) && !each.startsWith('.'))
    return names
      .sort()
      .map((each) => join(folder, each))
      .filter(isFile)
  } catch {
    return []
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
