/**
 * The modules of src/ as JavaScript, for the workers of vitest, which then import them as Node does. Vitest would transform each
 * of them anew in each run, give it to each worker by a message, and turn every import of another module into a call through a getter.
 *
 * The files have no types, and know their own URL as that of the source: threads, processes and files are found from there.
 * What a test mocks (`vi.mock` of a module of src/, `vi.resetModules`) has to come from vitest: projects without this plugin, to which the list `mocking` belongs.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ParsedStack } from 'vitest'
import type { Plugin } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = join(root, 'src')

/** Tests that change modules of the library, or load them once more: vitest has to have these modules. */
export const mocking: readonly string[] = [
  'test/devices/roce/joining.test.ts',
  'test/rsocket/runtime/udp-start.test.ts',
  'test/verbs/provider/lifetime.test.ts',
  'test/wire/icrc.test.ts',
]

/** What this run of vitest makes, threads' bundles included: test/entries.ts fills it. */
export const runFolder: string = join(root, 'build', `test-${process.pid}`)
const external: RegExp = /\/build\/test-\d+\/src\//

/** The file of the module `source`. */
function madeOf(source: string): string {
  return join(runFolder, 'src', source.slice(sources.length + 1).replace(/\.ts$/, '.js'))
}

/** Makes all of them. */
export async function makeSources(): Promise<void> {
  const { transform } = await import('rolldown/utils')
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
  await Promise.all(
    files.map(async (path) => {
      const source = join(sources, path)
      const url = JSON.stringify(pathToFileURL(source).href)
      const code = readFileSync(source, 'utf8')
      const result = await transform(source, code, {
        ...{ lang: 'ts', target: 'es2023', sourcemap: true },
        typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: 'rewrite' },
        define: { 'import.meta.url': url },
      })
      if (result.errors.length > 0) throw new Error(`${source}: ${result.errors[0]!.message}`)
      const file = madeOf(source)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, result.code)
      writeFileSync(`${file}.map`, JSON.stringify(result.map))
    }),
  )
}

/** Imports of src/ lead there. */
const madeSources: Plugin = {
  name: 'made sources',
  enforce: 'pre',
  resolveId(id, importer) {
    if (!id.endsWith('.ts') || (!id.startsWith('.') && !id.startsWith(sources))) return null
    const source = resolve(dirname(importer ?? root), id)
    return source.startsWith(`${sources}/`) ? madeOf(source) : null
  },
}

/** For projects of vitest whose tests import the library as Node does. */
export const asNode = {
  plugins: [madeSources],
  test: { pool: 'forks' as const, server: { deps: { external: [external] } } },
}

/** For `onStackTrace`: the line of the source, in the place of that of the JavaScript. */
export function toSource(frame: ParsedStack): void {
  if (!external.test(frame.file)) return
  try {
    const map = new SourceMap(JSON.parse(readFileSync(`${frame.file}.map`, 'utf8')))
    const found = map.findOrigin(frame.line, frame.column)
    if (!('lineNumber' in found)) return
    frame.file = join(sources, frame.file.slice(runFolder.length + '/src/'.length).replace(/\.js$/, '.ts'))
    frame.line = found.lineNumber
    frame.column = found.columnNumber
  } catch {
    // A frame without its source is better than none.
  }
}
