/** What nobody uses: files, exports, packages (`npm run unused`, part of `npm run lint`). */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pages } from './scripts/pages.mjs'

/** Modules that threads and processes start with, as the build finds them. */
const started = ['src', 'bench', 'test']
  .flatMap((folder) => (readdirSync(folder, { recursive: true }) as string[]).map((name) => join(folder, name)))
  .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
  .flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bentryModule\(import\.meta\.url, '([^']+)'/g)].map(
      ([, path]) => `${join(dirname(file), path!)}.ts`,
    ),
  )

export default {
  entry: [
    'src/*.ts',
    'src/entry/*.ts',
    'src/{collectives,gateway/runtime,report,run/child,sketch,traffic,traffic/load,wire}/index.ts',
    'src/cli/{main,run}.ts',
    'bench/main.ts',
    'scripts/**/*.{mjs,ts}',
    'test/**/*.test.ts',
    'test/*-reporter.ts',
    'test/**/speed.ts',
    'test/browser/page-speed.ts',
    'test/compliance/threads/*.ts',
    'test/package/consumer/main.ts',
    'examples/**/*.mjs',
    ...pages.map(({ input }) => input),
    ...started,
  ],
  project: ['src/**/*.ts', 'bench/**/*.ts', 'test/**/*.ts', 'scripts/**/*.{mjs,ts}'],
  include: ['files', 'exports', 'dependencies', 'unlisted'],
}
