/**
 * Builds the package (src/ -> dist/), and the comparison with peers, which is not published (build/bench/).
 *
 * rolldown bundles the JavaScript into one flat folder: entry points, and chunks of what several of them need. Modules that
 * threads and processes start with (calls of `entryModule`) become entry points by themselves. Packages that only commands
 * need are bundled, minified, and their licences collected. tsc writes the declarations that the entry points reach. Man pages and
 * completion scripts are made of the options of the commands (docs/shipped.ts). The script
 * of the report's page is a bundle of its own, and so are those of other pages (pages.mjs).
 *
 * Where sources and what was made of them are as after the last build (made.mjs), nothing is done.
 *
 * `npm install` in a clone runs this through `prepublish`, packing through `prepack`; where the compilers are not installed, dist/ is
 * already there. A script `prepare` would do both, but npm warns everybody who installs the packed file of a script that has to run.
 */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Made } from './made.mjs'
import { buildPages } from './pages.mjs'
import { startedModules } from './started-modules.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

const entryPoints = {
  index: 'src/index.ts',
  net: 'src/net.ts',
  dgram: 'src/dgram.ts',
  preload: 'src/preload.ts',
  collectives: 'src/collectives/index.ts',
  gateway: 'src/gateway/runtime/index.ts',
  report: 'src/report/index.ts',
  'run-child': 'src/run/child/index.ts',
  sketch: 'src/sketch/index.ts',
  traffic: 'src/traffic/index.ts',
  'traffic-load': 'src/traffic/load/index.ts',
  wire: 'src/wire/index.ts',
  capture: 'src/entry/capture.ts',
  trace: 'src/entry/trace.ts',
  monitor: 'src/entry/monitor.ts',
  replay: 'src/entry/replay.ts',
}
/** `run` is the command line for a process that is there already, as tests are. */
const command = { verbena: 'src/cli/main.ts', run: 'src/cli/run.ts' }
const { optionalDependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/**
 * Not in the bundles: the optional native library; clients of brokers, which are loaded when a configuration of the gateway names
 * them; what the package ws would use if it were installed.
 */
const external = [
  ...Object.keys({ ...optionalDependencies, ...peerDependencies }),
  ...['zeromq/draft.js', 'bufferutil', 'utf-8-validate'],
]
const comparison = { bench: 'bench/main.ts' }

/** The package of a module: its folder, and its name without scope; undefined if it is ours. */
function packageOf(id) {
  const [folder, name] = /^.*\/node_modules\/(?:@[^/]+\/)?([^/]+)/.exec(id) ?? []
  return folder === undefined ? undefined : { folder, name }
}

/** The licences of all packages that `modules` are of. */
function licences(modules) {
  const folders = new Set(modules.flatMap((id) => packageOf(id)?.folder ?? []))
  const parts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
      .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    if (!files.some((file) => /^(licen[cs]e|copying)/i.test(file))) throw new Error(`${folder} has no licence`)
    const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim())
    return [`${name} ${version} (${license})`, ...texts].join('\n\n')
  })
  return ["Verbena's files contain code of these packages.", ...parts].join(`\n\n${'-'.repeat(80)}\n\n`) + '\n'
}

/** Chunks of other packages are minified; ours stay readable, and comments in them tell the module of a line (`// src/index.ts`). */
const minifyThirdParty = {
  name: 'minify third party',
  async renderChunk(code, chunk) {
    const { minify } = await import('rolldown/utils')
    if (chunk.moduleIds.length > 0 && chunk.moduleIds.every(packageOf))
      return { code: (await minify(chunk.fileName, code)).code, map: null }
  },
}

/** Bundles `entries` (names, and files below the root) into the flat `folder`; resolves with the modules that went in. */
async function bundle(entries, folder) {
  const { rolldown } = await import('rolldown')
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(root, file)])),
    platform: 'node',
    external: [/^node:/, ...external],
    plugins: [startedModules(root, entries), minifyThirdParty],
    // A door by itself does nothing: a module that imports one thing through it does not load all that is behind it.
    treeshake: {
      moduleSideEffects: [
        { test: /\/src\/(cli|report|run|tools)\/(.+\/)?index\.ts$/, sideEffects: false },
        {
          test: /\/src\/(capture|cm|cm\/ib|devices\/middleware|files|gsi|management|memory|memory\/native|monitor|monitor\/api|monitor\/host|replay|rsocket\/protocol|trace|verbs|verbs\/provider|wire)\/index\.ts$/,
          sideEffects: false,
        },
      ],
    },
    onLog(level, log) {
      // A bundle with a warning is not published; that plugins took long says something of the machine.
      if (level === 'warn' && log.code !== 'PLUGIN_TIMINGS') throw new Error(log.message)
    },
  })
  const { output } = await build.write({
    dir: folder,
    // `const` stays (topLevelVar: false): V8 relies on it, where it compiles what reads a constant, that it never changes.
    topLevelVar: false,
    minifyInternalExports: false,
    comments: { legal: true, annotation: true, jsdoc: false },
    chunkFileNames: 'chunk-[name]-[hash].js',
    codeSplitting: { groups: [{ debugName: 'packages', name: (id) => packageOf(id)?.name ?? null }] },
  })
  await build.close()
  return output.flatMap(({ modules }) => Object.keys(modules ?? {}))
}

/** Runs Node.js with these arguments; throws `failure` if it ends with an error. */
async function runNode(args, failure) {
  const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: root })
  const code = await new Promise((done) => child.on('close', done))
  if (code !== 0) throw new Error(failure)
}

/** Runs tsc, which checks the types of everything, and tells what is wrong. */
async function declare(folder) {
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')
  const options = ['-p', join(root, 'tsconfig.json'), '--emitDeclarationOnly', '--outDir', folder]
  await runNode([tsc, ...options], 'the types do not check')
}

/** Writes man pages and completion scripts, which the commands describe. */
async function describeCommands(folder) {
  const script = join(root, 'scripts', 'docs', 'shipped.ts')
  await runNode(['--import', import.meta.resolve('tsx'), script, folder], 'the commands cannot be described')
}

/** Moves the declarations that those of `entries` reach from one folder to another. They may need nothing but Node's. */
function moveReached(from, to, entries) {
  const reach = (file) => {
    const place = join(to, relative(from, file))
    if (existsSync(place)) return
    mkdirSync(dirname(place), { recursive: true })
    renameSync(file, place)
    const code = readFileSync(place, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
    for (const [, from] of code.matchAll(/\b(?:from |import |import\()['"]([^'"]+)['"]/g)) {
      if (from.startsWith('.')) reach(resolve(dirname(file), from.replace(/\.ts$/, '.d.ts')))
      else if (!from.startsWith('node:')) throw new Error(`${file}: the declarations need the package ${from}`)
    }
  }
  for (const file of Object.values(entries)) reach(join(from, relative('src', file).replace(/\.ts$/, '.d.ts')))
  rmSync(from, { recursive: true })
}

/** `make` fills a new folder, which takes the place of `folder` once it is complete. */
async function replace(folder, make) {
  const fresh = join(root, 'build', `${basename(folder)}.${process.pid}`)
  try {
    mkdirSync(fresh, { recursive: true })
    await make(fresh)
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

async function buildPackage(dist) {
  await replace(dist, async (fresh) => {
    const declarations = join(fresh, 'declarations')
    const modules = await Promise.all([
      bundle({ ...entryPoints, ...command }, fresh),
      buildPages(root, fresh),
      declare(declarations),
      describeCommands(fresh),
    ])
    moveReached(declarations, join(fresh, 'types'), entryPoints)
    writeFileSync(join(fresh, 'THIRD-PARTY-LICENSES.txt'), licences(modules.flatMap((list) => list ?? [])))
    chmodSync(join(fresh, 'verbena.js'), 0o755)
  })
}

const dist = join(root, 'dist')
try {
  require.resolve('typescript/package.json')
  require.resolve('rolldown')
  require.resolve('tsx')
} catch {
  if (existsSync(join(dist, 'index.js'))) process.exit(0)
  console.error('verbena: the compilers are not installed and dist/ is missing: run `npm install --include=dev`')
  process.exit(1)
}
/** npm's list of the packages that are installed: they are bundled, and compile. */
const installed = join('node_modules', '.package-lock.json')
const inputs = ['src', 'bench', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json', installed]
const made = new Made(root, inputs, ['dist', join('build', 'bench')], join('build', 'made'))
const sources = made.sources()
if (made.isCurrent(sources)) process.exit(0)
await buildPackage(dist)
await replace(join(root, 'build', 'bench'), (fresh) => bundle(comparison, fresh))
made.note(sources)
