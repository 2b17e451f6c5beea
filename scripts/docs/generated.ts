/** All files that are generated and committed, by the folder that holds them and nothing else. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeCommandLine } from '../../src/cli/describe.ts'
import { jsonSchema } from '../../src/traffic/load/index.ts'
import { apiPages, entryPointsOf } from './api-pages.ts'
import { cliPages } from './cli-pages.ts'

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

export async function generatedFiles(): Promise<Map<string, Map<string, string>>> {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const commandLine = await describeCommandLine()
  return new Map([
    ['docs/reference/api', apiPages(root, entryPointsOf(manifest))],
    ['docs/reference/cli', cliPages(commandLine)],
    ['docs/reference/traffic', new Map([['traffic.schema.json', `${JSON.stringify(jsonSchema(), null, 2)}\n`]])],
  ])
}
