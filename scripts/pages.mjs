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

/** Writes the script of the report to `file`; resolves with the modules that went in, as the others do. */
export async function buildReportPage(root, file) {
  return write(file, notice(), await bundled(root, 'src/report/browser/main.ts'))
}

/** Writes the script of the gateway's live page, which has nothing of others in it, to `file`. */
export async function buildGatewayPage(root, file) {
  return write(file, '', await bundled(root, 'src/gateway/page/main.ts'))
}

/** Writes the script of the monitor's live page, which has nothing of others in it either, to `file`. */
export async function buildMonitorPage(root, file) {
  return write(file, '', await bundled(root, 'src/monitor/page/main.ts'))
}

/** Writes the script of `verbena trace page` and that of its worker to these files. */
export async function buildTracePage(root, page, worker) {
  return [
    ...write(page, '', await bundled(root, 'src/trace/page/main.ts')),
    ...write(worker, mitNotice('fflate', 'fzstd'), await bundled(root, 'src/trace/worker/main.ts')),
  ]
}

function write(file, notices, { code, modules }) {
  writeFileSync(file, notices + code)
  return modules
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
