/**
 * `npm run docs`: writes what documentation can be made of the program itself, docs/reference/api from the declarations.
 * test/docs/generated.test.ts says when it has to be run again.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generatedFiles, root } from './docs/generated.ts'

for (const [folder, files] of await generatedFiles()) {
  const path = join(root, folder)
  mkdirSync(path, { recursive: true })
  for (const name of readdirSync(path)) if (!files.has(name)) rmSync(join(path, name), { recursive: true })
  for (const [name, text] of files) writeFileSync(join(path, name), text)
  console.log(`${folder}: ${files.size} files`)
}
