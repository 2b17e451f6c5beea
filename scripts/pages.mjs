/**
 * Bundles the scripts of pages, each into one file: the report's (src/report/browser, with the parts of the chart library that
 * it needs), the gateway's, the monitor's, and that of `verbena trace page` with its worker. A page holds a copy of its script, so it is
 * minified, and nothing in it may end a script element.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

const folderOf = (name) => {
  const [before] = require.resolve(name).split(`/node_modules/${name}/`)
  return join(before, 'node_modules', name)
}

/** What the licences of these packages, all of MIT, ask to be kept with every copy. */
function mitNotice(...names) {
  const texts = names.map((name) => {
    const { version } = JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8'))
    return `${name} ${version}:\n${readFileSync(join(folderOf(name), 'LICENSE'), 'utf8').trim()}`
  })
  return `/*! Contains ${texts.join('\n\n')}\n*/\n`
}

/** What the licences of the bundled packages ask to be kept with every copy. */
function notice() {
  const folder = (name) => dirname(require.resolve(`${name}/package.json`))
  const versionOf = (name) => JSON.parse(readFileSync(join(folder(name), 'package.json'), 'utf8')).version
  const zrender = readFileSync(join(folder('zrender'), 'LICENSE'), 'utf8').trim()
  return `/*! Contains Apache ECharts ${versionOf('echarts')} (Apache License, Version 2.0) and ZRender ${versionOf('zrender')}:\n${zrender}\n*/\n`
}

/** The scripts of pages: the file that `pageScript` of src/web reads, and the module that is bundled to it. */
export const pages = [
  { script: 'report-page.js', input: 'src/report/browser/main.ts', notices: notice },
  { script: 'gateway-page.js', input: 'src/gateway/page/main.ts' },
  { script: 'monitor-page.js', input: 'src/monitor/page/main.ts' },
  { script: 'trace-page.js', input: 'src/trace/page/main.ts' },
  { script: 'trace-worker.js', input: 'src/trace/worker/main.ts', notices: () => mitNotice('fflate', 'fzstd') },
]

/** Writes all of them into `folder`; resolves with the modules that went in. */
export async function buildPages(root, folder) {
  const modules = await Promise.all(
    pages.map(async ({ script, input, notices = () => '' }) => {
      const { code, modules } = await bundled(root, input)
      writeFileSync(join(folder, script), notices() + code)
      return modules
    }),
  )
  return modules.flat()
}

/** The code of a page's script, in one piece, and its modules. */
async function bundled(root, input) {
  const { rolldown } = await import('rolldown')
  const build = await rolldown({
    cwd: root,
    input: join(root, input),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    onLog(level, log) {
      // A bundle with a warning is not published.
      if (level === 'warn') throw new Error(log.message)
    },
  })
  const { output } = await build.generate({ format: 'iife', minify: true, comments: false })
  await build.close()
  const { code, modules } = output[0]
  if (/<\/script|<!--/i.test(code) || output.length !== 1)
    throw new Error('the script of the page cannot be put into a page')
  return { code, modules: Object.keys(modules) }
}
