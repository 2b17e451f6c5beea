/**
 * Bundles the script of the report's page (src/report/browser, with the parts of the chart library that it needs) into one
 * file. Each report holds a copy of it, so it is minified, and nothing in it may end a script element.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/** What the licences of the bundled packages ask to be kept with every copy. */
function notice() {
  const folder = (name) => dirname(require.resolve(`${name}/package.json`))
  const versionOf = (name) => JSON.parse(readFileSync(join(folder(name), 'package.json'), 'utf8')).version
  const zrender = readFileSync(join(folder('zrender'), 'LICENSE'), 'utf8').trim()
  return `/*! Contains Apache ECharts ${versionOf('echarts')} (Apache License, Version 2.0) and ZRender ${versionOf('zrender')}:\n${zrender}\n*/\n`
}

/** Writes the script to `file`. */
export async function buildReportPage(root, file) {
  const { rolldown } = await import('rolldown')
  const build = await rolldown({
    cwd: root,
    input: join(root, 'src/report/browser/main.ts'),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    onLog(level, log) {
      // A bundle with a warning is not published.
      if (level === 'warn') throw new Error(log.message)
    },
  })
  const { output } = await build.generate({ format: 'iife', minify: true, comments: false })
  await build.close()
  const code = notice() + output[0].code
  if (/<\/script|<!--/i.test(code) || output.length !== 1)
    throw new Error('the script of the page cannot be put into a page')
  writeFileSync(file, code)
}
