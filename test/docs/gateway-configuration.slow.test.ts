/** docs/guide/gateway-configuration.md and gateway-api.md: commands print what they show; tables are complete. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { addRoutes } from '../../src/gateway/api/app.ts'
import type { GatewayControl } from '../../src/gateway/api/control.ts'
import { ignored } from '../../src/gateway/index.ts'
import { makeApp } from '../../src/web/serve/index.ts'
import { outcome, startProcess } from '../cli/run.ts'
import { root, textOf } from './markdown.ts'

const page = textOf('docs/guide/gateway-configuration.md')
const [lab, labCommands, mistakes, mistakesCommands] = [...page.matchAll(/^```\n([\s\S]*?)^```/gm)].map(
  ([, block]) => block!,
)
const folder = mkdtempSync(join(tmpdir(), 'verbena-docs-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Commands of a block, and what they print. */
const shown = (block: string) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text.slice(text.indexOf('\n') + 1)] as const)

it.each([
  ['lab.conf', lab!, labCommands!],
  ['mistakes.yaml', mistakes!, mistakesCommands!],
])('%s: commands print what the page shows', async (name, text, block) => {
  writeFileSync(join(folder, name), text)
  for (const [line, output] of shown(block)) {
    const words = line.split(' ')
    expect(words.slice(0, 2)).toEqual(['npx', 'verbena'])
    const { stdout, stderr } = await outcome(startProcess(words.slice(2), { cwd: folder }))
    // '…' stands for the rest of a line.
    const printed = `${stderr}${stdout}`.split('\n')
    const wanted = output.split('\n').map((each) => each.replace(/…$/, ''))
    expect(
      printed.map((each, i) => (output.split('\n')[i]?.endsWith('…') ? each.slice(0, wanted[i]!.length) : each)),
    ).toEqual(wanted)
  }
})

it('has the picture that the command draws', () => {
  expect(readFileSync(join(root, 'docs/pictures/gateway-graph.svg'), 'utf8')).toBe(
    readFileSync(join(folder, 'lab.svg'), 'utf8'),
  )
})

it('lists all settings that have no effect', () => {
  const rows = page.slice(page.indexOf('| key | reason |')).trim().split('\n').slice(2)
  const expected = Object.entries(ignored).flatMap(([of, keys]) =>
    Object.entries(keys).map(([key, why]) => `| \`${of === 'gateway' ? '' : `${of}.`}${key}\` | ${why} |`),
  )
  expect(rows).toEqual(expected)
})

it('lists all requests of the API, and no others', () => {
  const guide = textOf('docs/guide/gateway-api.md')
  const listed = [...guide.matchAll(/`(GET|PUT|POST|DELETE) (\/[^`]*)`/g)].map(
    ([, method, path]) => `${method} /api/v2${path}`,
  )
  const app = makeApp()
  addRoutes(app, {
    control: {} as GatewayControl,
    version: '',
    page: '',
    shutdown: () => {},
  })
  const routes = app.routes
    .filter(({ method, path }) => method !== 'ALL' && path !== '/')
    .map(({ method, path }) => `${method} ${path}`)
  const graphs = ['svg', 'dot', 'text', 'json'].map((format) => `GET /api/v2/graph.${format}`)
  const all = routes.flatMap((route) => (route.includes(':graph') ? graphs : route))
  expect(listed.sort()).toEqual([...new Set(all)].sort())
})
