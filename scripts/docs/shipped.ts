/** `tsx scripts/docs/shipped.ts FOLDER`: writes what the package has of the command line, and the repository does not: man pages and completion. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeCommandLine } from '../../src/cli/describe.ts'
import { version } from '../../src/cli/terminal/index.ts'
import { completionScripts } from './completion.ts'
import { manPages } from './man-pages.ts'

const [folder] = process.argv.slice(2) as [string]
const commandLine = await describeCommandLine()
const folders = { man: manPages(commandLine, version), completion: completionScripts(commandLine) }
for (const [name, files] of Object.entries(folders)) {
  mkdirSync(join(folder, name), { recursive: true })
  for (const [file, text] of files) writeFileSync(join(folder, name, file), text)
}
