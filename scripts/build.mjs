// Builds src/ into dist/ and drops outputs whose source is gone. `npm install` runs it through `prepare`;
// where the compiler is not installed (a production install of a packed release) dist/ is already there.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)
let tsc
try {
  tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')
} catch {
  if (existsSync(join(root, 'dist', 'index.js'))) process.exit(0)
  console.error('verbena: typescript is not installed and dist/ is missing: run `npm install --include=dev`')
  process.exit(1)
}
const fresh = join(root, `dist.${process.pid}`)
const result = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.json'), '--outDir', fresh], {
  stdio: 'inherit',
})
if (result.status !== 0) {
  rmSync(fresh, { recursive: true, force: true })
  process.exit(result.status ?? 1)
}
const dist = join(root, 'dist')
rmSync(dist, { recursive: true, force: true })
cpSync(fresh, dist, { recursive: true })
rmSync(fresh, { recursive: true, force: true })
const bin = join(dist, 'cli', 'main.js')
if (existsSync(bin)) chmodSync(bin, 0o755)
