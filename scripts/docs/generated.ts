/** All files that are generated, by the folder that holds them and nothing else. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiPages, entryPointsOf } from './api-pages.ts'

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

export async function generatedFiles(): Promise<Map<string, Map<string, string>>> {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return new Map([['docs/reference/api', apiPages(root, entryPointsOf(manifest))]])
}
