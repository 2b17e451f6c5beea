/**
 * What threads and processes of tests start with, bundled once for each run of vitest. Node 20 loads TypeScript through tsx,
 * which takes a thread that imports the library 0.7 s of a core; a bundle takes a tenth of that.
 *
 * `startThread` finds the bundles by itself (src/memory/ts-worker.mjs). Whatever is not bundled starts through tsx as before.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { makeSources, runFolder } from './sources.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Makes the bundles and tells those who start threads where they are; vitest calls it, and what it returns at the end. */
export default async function setup(): Promise<(() => void) | undefined> {
  // The projects of a configuration share them.
  if (process.env.TEST_ENTRIES) return undefined
  // Native code of the host's processor, on which tests need not run.
  const { rolldown } = await import('rolldown')
  const folder = runFolder
  const input = Object.fromEntries([...ofSources(), ...ofTests()])
  const isPackage = (id: string): boolean => !/^[./]/.test(id)
  const build = await rolldown({ cwd: root, input, platform: 'node', external: isPackage, logLevel: 'silent' })
  // Flat, as in the package: a module that starts another one finds it beside itself.
  await build.write({ dir: folder, entryFileNames: '[name].js', chunkFileNames: 'chunk-[name]-[hash].js' })
  await build.close()
  await makeSources()
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const map = Object.entries(input).map(([name, file]) => [pathToFileURL(file).href, join(folder, `${name}.js`)])
  const file = join(folder, 'entries.json')
  writeFileSync(file, JSON.stringify(Object.fromEntries(map)))
  process.env.TEST_ENTRIES = file
  return () => rmSync(folder, { recursive: true })
}

/** The modules that the library starts threads with: calls of `entryModule`. */
function* ofSources(): Generator<[name: string, file: string]> {
  for (const file of modulesIn('src')) {
    for (const [, entry] of readFileSync(file, 'utf8').matchAll(/\bentryModule\(import\.meta\.url, '([^']+)'/g))
      yield [basename(entry!), `${resolve(file, '..', entry!)}.ts`]
  }
}

/** Those of tests, by their names. */
function* ofTests(): Generator<[name: string, file: string]> {
  // Programs that tests write import these.
  for (const door of ['src/memory', 'src/memory/native'])
    yield [`${door.replaceAll('/', '_')}_index`, join(root, door, 'index.ts')]
  for (const file of modulesIn('test'))
    if (/\.(worker|process)\.ts$|-thread\.ts$|\/threads\/|\/fake-preload\.ts$/.test(file))
      yield [relative(root, file).replace(/\.ts$/, '').replaceAll('/', '_'), file]
}

function modulesIn(folder: string): string[] {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return paths.filter((path) => /^(?!.*node_modules).*\.ts$/.test(path)).map((path) => join(root, folder, path))
}

const bundles: Record<string, string> = process.env.TEST_ENTRIES
  ? JSON.parse(readFileSync(process.env.TEST_ENTRIES, 'utf8'))
  : {}

/** How a process starts with the TypeScript module `entry`: its file, and the options of Node that it needs. */
export function startable(entry: URL): { file: string; execArgv: string[] } {
  const bundle = bundles[entry.href]
  if (bundle !== undefined) return { file: bundle, execArgv: [] }
  return { file: fileURLToPath(entry), execArgv: ['--import', import.meta.resolve('tsx')] }
}
